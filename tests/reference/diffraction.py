"""Diffraction by ITU-R P.526-15, as it prints the formulas: distances in km, heights in m above the sea, in floats."""

import math


def knife_edge(nu):
    """Eq. (31)."""
    if nu <= -0.78:
        return 0.0
    return 6.9 + 20 * math.log10(math.sqrt((nu - 0.1) ** 2 + 1) + nu - 0.1)


def bullington(distances, heights, site, mobile, wavelength, radius_km):
    """4.5.1; the first and the last point are the ends, whose antennas are at the heights `site` and `mobile`."""
    d, curvature = distances[-1], 1 / radius_km
    inner = list(zip(distances[1:-1], heights[1:-1]))
    bulged = [(x, h + 500 * curvature * x * (d - x)) for x, h in inner]
    slope = (mobile - site) / d
    from_site = max(((h - site) / x for x, h in bulged), default=-math.inf)
    if from_site < slope:
        nus = [
            (h - (site * (d - x) + mobile * x) / d) * math.sqrt(0.002 * d / (wavelength * x * (d - x)))
            for x, h in bulged
        ]
        loss = knife_edge(max(nus, default=-math.inf))
    else:
        from_mobile = max((h - mobile) / (d - x) for x, h in bulged)
        edge = (mobile - site + from_mobile * d) / (from_site + from_mobile)
        over = site + from_site * edge - (site * (d - edge) + mobile * edge) / d
        loss = knife_edge(over * math.sqrt(0.002 * d / (wavelength * edge * (d - edge))))
    return loss + (1 - math.exp(-loss / 6)) * (10 + 0.02 * d)


def single(distances, heights, site, mobile, wavelength, radius_km):
    """4.1: the edge with the greatest loss."""
    d, losses = distances[-1], [0.0]
    for x, h in zip(distances[1:-1], heights[1:-1]):
        over = h + 500 * x * (d - x) / radius_km - (site * (d - x) + mobile * x) / d
        losses.append(knife_edge(over * math.sqrt(0.002 * d / (wavelength * x * (d - x)))))
    return max(losses)


def profile(ground, transform, site, cell):
    """Distances in km and heights of the ground where a ray crosses lines of centres; from a site to a cell's centre.

    `site` has the column and the row of the transmitter, `cell` those of the cell. The ends have the height 0.
    """
    a, b, _, d, e, _ = transform
    ends = (site[0] - 0.5, site[1] - 0.5), (float(cell[0]), float(cell[1]))
    right, down = ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]
    axis = 0 if abs(right) >= abs(down) else 1
    metres = math.hypot(a * right + b * down, d * right + e * down)
    start, stop = ends[0][axis], ends[1][axis]
    found = []
    for line in range(math.ceil(min(start, stop)), math.floor(max(start, stop)) + 1):
        if line in (start, stop):
            continue
        share = (line - start) / (stop - start)
        side = ends[0][1 - axis] + share * (ends[1][1 - axis] - ends[0][1 - axis])
        most = ground.shape[axis] - 1
        side = min(max(side, 0), most)
        low = min(int(side), max(most - 1, 0))
        pair = [ground[low + k, line] if axis == 0 else ground[line, low + k] for k in (0, 1 if most else 0)]
        found.append((share * metres / 1000, float(pair[0]) + (side - low) * (float(pair[1]) - float(pair[0]))))
    found.sort()
    return [0.0, *(x for x, _ in found), metres / 1000], [0.0, *(h for _, h in found), 0.0]


# Validation data ---------------------------------------------------------------------------------------------------

#: Path 3 of ITU-R's "Validation examples for the delta Bullington diffraction prediction method": heights in m every
#: 50 m, the last one at 17.39688966 km. The effective radius of the earth is 8500 km, light has 3e8 m/s.
PATH = """
697 697 697 690 690 665 665 661 653 656 644 644 638 629 620 620 610 610 608 608 610 610 609 609 611 611 604 604 604
607 607 609 609 611 606 606 606 602 602 602 602 604 603 606 606 603 603 605 607 607 605 605 605 605 600 601 594 594
589 589 595 589 589 586 586 582 584 581 579 575 575 577 577 585 587 586 596 596 587 589 593 593 589 589 593 593 590
600 592 601 605 605 601 609 609 618 618 613 613 612 615 612 612 618 618 616 616 612 613 613 613 613 613 612 609 609
606 606 604 604 602 602 602 602 603 603 604 601 601 602 602 607 603 605 606 610 610 610 610 611 611 611 616 616 618
618 622 621 625 625 635 635 631 638 638 621 620 620 616 611 611 594 594 589 589 586 582 579 578 579 579 576 576 574
577 577 575 575 571 572 572 572 571 571 575 575 573 571 569 570 570 570 570 575 575 576 576 577 577 578 574 574 574
575 575 577 577 577 579 579 579 583 583 586 583 583 584 584 586 586 587 594 599 599 588 591 590 592 592 594 594 596
597 602 599 605 605 605 605 610 607 607 615 615 621 621 624 621 633 633 632 632 636 630 639 630 630 634 628 632 632
628 628 625 625 626 621 624 624 620 620 620 620 620 616 616 610 610 605 607 604 604 603 603 594 594 594 596 592 592
587 586 585 583 583 579 579 571 573 575 576 572 572 573 573 569 569 569 568 568 566 568 568 564 563 563 559 559 564
567 564 563 562 562 561 563 563 561 561 562 562 561 563 564 564 563 563 565 565 564 566 566 568 568 569 567 570 570
569
"""
LENGTH_KM, RADIUS_KM = 17.39688966, 8500.0
#: MHz, heights of both antennas above the ground in m, and Bullington's loss over the actual profile in dB.
EXAMPLES = (
    (1000, 30, 30, 17.62040631),
    (2500, 50, 10, 25.1016907),
    (600, 20, 20, 20.25488733),
    (200, 40, 50, 10.1899085),
    (150, 70, 5, 16.27593106),
)
