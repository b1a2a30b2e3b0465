// radio/diffraction.h: diffraction over knife edges and over a smooth earth. Source: ITU-R P.526-15, 3.1.1, 3.2, 4.1, 4.5.

// The loss in dB over one edge, by the parameter nu; none where the edge is far below the line of sight.
inline float edge_loss(const float nu)
{
    const float above = nu - 0.1f;
    const float loss = 6.9f + 20.0f * log10(sqrt(above * above + 1.0f) + above);
    return nu > -0.78f ? loss : 0.0f;
}

// The loss of Bullington's edge, with the correction for a path of several edges; the length of the path in km.
inline float bullington_loss(const float nu, const float length)
{
    const float loss = edge_loss(nu);
    return loss + (1.0f - exp(loss * -0.16666667f)) * (10.0f + 0.02f * length);
}

// What one pass over a profile keeps: the steepest slopes seen from both ends, and the clearance of the direct line as
// height * |height| / (distance * distance). Heights are above the transmitter's antenna, distances in cells.
typedef struct {
    float from_site, from_cell, clearest;
} horizon_t;

inline horizon_t no_horizon(void)
{
    const horizon_t none = {-INFINITY, -INFINITY, -INFINITY};
    return none;
}

inline horizon_t horizon_add(horizon_t seen, const float height, const float end, const float slope, const float gone,
                             const float rest, const float per_both)
{
    const float clearance = height - slope * gone;
    seen.from_site = fmax(seen.from_site, height * rest * per_both);
    seen.from_cell = fmax(seen.from_cell, (height - end) * gone * per_both);
    seen.clearest = fmax(seen.clearest, clearance * fabs(clearance) * per_both);
    return seen;
}

// nu of the greatest clearance: nu^2 is twice the squared height over the wavelength and both distances; to_nu has the rest.
inline float nu_of_clearance(const float clearest, const float to_nu)
{
    return clearest >= 0.0f ? sqrt(clearest * to_nu) : -sqrt(-clearest * to_nu);
}

// nu of Bullington's edge, where the lines of both horizons meet; with line of sight that of the greatest clearance.
inline float nu_of_horizon(const horizon_t seen, const float end, const float slope, const float span, const float to_nu)
{
    if (seen.from_site < slope)
        return nu_of_clearance(seen.clearest, to_nu);
    const float edge = clamp((end + seen.from_cell * span) / (seen.from_site + seen.from_cell), 0.0f, span);
    return (seen.from_site - slope) * edge * sqrt(to_nu / fmax(edge * (span - edge), 1e-20f));
}

// The first term of the loss over a smooth earth; lengths in km, heights in m, the frequency in GHz. `admittance` is that of
// the ground times the cube root of the radius.
inline float first_term(const float length, const float frequency, const float site, const float mobile,
                        const float radius, const float admittance)
{
    const float third = 0.33333333f, k = admittance * powr(radius, -third), k2 = k * k;
    const float beta = (1.0f + 1.6f * k2 + 0.67f * k2 * k2) / (1.0f + 4.5f * k2 + 1.53f * k2 * k2);
    const float x = 21.88f * beta * powr(frequency / (radius * radius), third) * length;
    const float far = x >= 1.6f ? 11.0f + 10.0f * log10(x) - 17.6f * x : -20.0f * log10(x) - 5.6488f * powr(x, 1.425f);
    const float2 b = beta * 0.9575f * beta * powr(frequency * frequency / radius, third) * (float2)(site, mobile);
    const float2 high = sqrt(fmax(b - 1.1f, (float2)0.0f));
    const float2 gain = b > 2.0f ? 17.6f * high - 10.0f * log10(fmax(high, (float2)1e-9f)) - 8.0f
        : 20.0f * log10(b + 0.1f * b * b * b);
    const float2 least = fmax(gain, (float2)(2.0f + 20.0f * log10(k)));
    return -far - least.x - least.y;
}

// The loss over a smooth earth for any distance; heights of the antennas above it.
inline float smooth_earth_loss(const float length, const float frequency, const float site, const float mobile,
                               const float radius, const float admittance)
{
    if (length >= sqrt(0.002f * radius) * (sqrt(site) + sqrt(mobile)))
        return first_term(length, frequency, site, mobile, radius, admittance);
    const float c = (site - mobile) / (site + mobile), m = 250.0f * length * length / (radius * (site + mobile));
    const float sine = clamp(1.5f * c * sqrt(3.0f * m / ((m + 1.0f) * (m + 1.0f) * (m + 1.0f))), -1.0f, 1.0f);
    const float b = 2.0f * sqrt((m + 1.0f) / (3.0f * m)) * sin(asin(sine) * 0.33333333f);
    const float one = 0.5f * length * (1.0f + b), two = length - one;
    const float clear = ((site - 500.0f * one * one / radius) * two + (mobile - 500.0f * two * two / radius) * one) / length;
    const float needed = 17.456f * sqrt(fmax(one * two, 0.0f) * 0.299792458f / (frequency * length));
    if (clear >= needed)
        return 0.0f;
    const float reach = length / (sqrt(site) + sqrt(mobile));
    const float loss = first_term(length, frequency, site, mobile, 500.0f * reach * reach, admittance);
    return fmax((1.0f - clear / needed) * fmax(loss, 0.0f), 0.0f);
}
