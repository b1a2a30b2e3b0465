// radio/models.h: models of path loss, in dB. Plain arithmetic and logarithms of scalars or of vectors.
//
// LOSS_<model>(name, T, flag_t) defines
//
//   inline T name(T distance, T frequency, ..)     in km, MHz, m and degrees, in the order below
//
// T is the type of numbers, flag_t the type of their comparisons. The includer defines NUMBERS_ARE_FLOAT, 1 or 0, and,
// for walfisch_ikegami, CITY_SLOPE: the growth of the loss over roofs with the frequency; METROPOLITAN, 1 or 0, and
// one of AREA_URBAN, AREA_SUBURBAN and AREA_OPEN for the models of Hata.
// Sources: COST 231 final report (1999), section 4.4.1 (walfisch_ikegami, line_of_sight) and 4.4.3 (cost231_hata);
// Rappaport, "Wireless communications" (2002), sections 4.2 and 4.6 (free_space, two_ray, interference); M. Hata, IEEE
// Trans. Vehicular Technology 29 (1980) (okumura_hata); 3GPP TR 38.901, table 7.4.1-1 (urban_macro, urban_micro).
#if NUMBERS_ARE_FLOAT
#define NUM(T, x) ((T)NUM_(x))
#define NUM_(x) (x##f)
#else
#define NUM(T, x) ((T)(x))
#endif

#define LOSS_free_space(name, T, flag_t)                                                                              \
inline T name(T distance, T frequency)                                                                                \
{                                                                                                                     \
    return NUM(T, 32.44778322188337) + NUM(T, 20.0) * (log10(distance) + log10(frequency));                           \
}

// The loss in free space between antennas that are `distance` km apart along the ground, and `down` m in height.
#define FREE_SPACE(T, distance, frequency, down)                                                                      \
    (NUM(T, 32.44778322188337) + NUM(T, 20.0) * log10(frequency)                                                      \
     + NUM(T, 10.0) * log10(distance * distance + NUM(T, 0.000001) * down * down))

// The loss in free space, and beyond the distance where it is larger, the plane earth's with the fourth power of distance.
#define LOSS_two_ray(name, T, flag_t)                                                                                 \
inline T name(T distance, T frequency, T base_height, T mobile_height)                                                \
{                                                                                                                     \
    const T free_space = NUM(T, 32.44778322188337) + NUM(T, 20.0) * (log10(distance) + log10(frequency));             \
    const T plane_earth = NUM(T, 120.0) + NUM(T, 40.0) * log10(distance)                                              \
        - NUM(T, 20.0) * (log10(base_height) + log10(mobile_height));                                                 \
    return plane_earth > free_space ? plane_earth : free_space;                                                       \
}

// The fields of the direct ray and of the ray that the ground reflects, added with their phases. The difference of the
// paths is computed from the product of the heights, because the difference of two nearly equal roots would cancel.
#define LOSS_interference(name, T, flag_t)                                                                            \
inline T name(T distance, T frequency, T base_height, T mobile_height, T reflection)                                  \
{                                                                                                                     \
    const T ground = distance * NUM(T, 1000.0);                                                                       \
    const T down = base_height - mobile_height, up = base_height + mobile_height;                                     \
    const T direct = sqrt(ground * ground + down * down), bounced = sqrt(ground * ground + up * up);                  \
    const T longer = NUM(T, 4.0) * base_height * mobile_height / (direct + bounced);                                  \
    const T waves = longer * frequency * NUM(T, 0.0033356409519815205);                                               \
    const T turn = NUM(T, 6.283185307179586) * (waves - floor(waves));                                                \
    const T share = reflection * direct / bounced;                                                                    \
    const T power = NUM(T, 1.0) + share * share + NUM(T, 2.0) * share * cos(turn);                                    \
    const T free_space = NUM(T, -27.55221677811663) + NUM(T, 20.0) * (log10(direct) + log10(frequency));              \
    return free_space - NUM(T, 10.0) * log10(power);                                                                  \
}

#define LOSS_line_of_sight(name, T, flag_t)                                                                           \
inline T name(T distance, T frequency, T base_height, T mobile_height)                                                \
{                                                                                                                     \
    return NUM(T, 42.6) + NUM(T, 26.0) * log10(distance) + NUM(T, 20.0) * log10(frequency);                           \
}

// turned, to_street: from the last roof down into the street, by the angle between the street and the ray.
// screened .. over_roofs: over the roofs before, by the height of the antenna above or below them.
#define LOSS_walfisch_ikegami(name, T, flag_t)                                                                        \
inline T name(T distance, T frequency, T base_height, T mobile_height, T roof_height,                                 \
              T street_width, T separation, T orientation, flag_t line_of_sight)                                      \
{                                                                                                                     \
    const T log_d = log10(distance), log_f = log10(frequency);                                                        \
    const T seen = NUM(T, 42.6) + NUM(T, 26.0) * log_d + NUM(T, 20.0) * log_f;                                        \
    const T turned = orientation < NUM(T, 35.0) ? NUM(T, -10.0) + NUM(T, 0.354) * orientation                         \
        : orientation < NUM(T, 55.0) ? NUM(T, 2.5) + NUM(T, 0.075) * (orientation - NUM(T, 35.0))                     \
        : NUM(T, 4.0) - NUM(T, 0.114) * (orientation - NUM(T, 55.0));                                                 \
    const T to_street = NUM(T, -16.9) - NUM(T, 10.0) * log10(street_width) + NUM(T, 10.0) * log_f                     \
        + NUM(T, 20.0) * log10(roof_height - mobile_height) + turned;                                                 \
    const T above = base_height - roof_height;                                                                        \
    const flag_t over = above > NUM(T, 0.0);                                                                          \
    const T near = distance < NUM(T, 0.5) ? distance * NUM(T, 2.0) : NUM(T, 1.0);                                     \
    const T screened = over ? NUM(T, -18.0) * log10(NUM(T, 1.0) + (over ? above : NUM(T, 0.0))) : NUM(T, 0.0);        \
    const T k_a = over ? NUM(T, 54.0) : NUM(T, 54.0) - NUM(T, 0.8) * above * near;                                    \
    const T k_d = over ? NUM(T, 18.0) : NUM(T, 18.0) - NUM(T, 15.0) * above / roof_height;                            \
    const T k_f = NUM(T, -4.0) + NUM(T, CITY_SLOPE) * (frequency * NUM(T, 0.001081081081081081) - NUM(T, 1.0));       \
    const T over_roofs = screened + k_a + k_d * log_d + k_f * log_f - NUM(T, 9.0) * log10(separation);                \
    const T extra = to_street + over_roofs;                                                                           \
    const T hidden = NUM(T, 32.4) + NUM(T, 20.0) * (log_d + log_f) + (extra <= NUM(T, 0.0) ? NUM(T, 0.0) : extra);    \
    return line_of_sight ? seen : hidden;                                                                             \
}

// The gain of the mobile station's height, for a medium-sized or small city, or for a large one.
#define MEDIUM_CITY(T, log_f, height)                                                                                 \
    ((NUM(T, 1.1) * log_f - NUM(T, 0.7)) * height - (NUM(T, 1.56) * log_f - NUM(T, 0.8)))
#if METROPOLITAN
#define HATA_GAIN(T, frequency, log_f, height)                                                                        \
    (frequency < NUM(T, 300.0) ? NUM(T, 8.29) * log10(NUM(T, 1.54) * height) * log10(NUM(T, 1.54) * height)           \
     - NUM(T, 1.1) : NUM(T, 3.2) * log10(NUM(T, 11.75) * height) * log10(NUM(T, 11.75) * height) - NUM(T, 4.97))
#else
#define HATA_GAIN(T, frequency, log_f, height) MEDIUM_CITY(T, log_f, height)
#endif
#if defined(AREA_SUBURBAN)
#define HATA_AREA(T, log_f) (NUM(T, -5.4) - NUM(T, 2.0) * (log_f - NUM(T, 1.4471580313422192))                        \
    * (log_f - NUM(T, 1.4471580313422192)))
#elif defined(AREA_OPEN)
#define HATA_AREA(T, log_f) (NUM(T, -40.94) + (NUM(T, 18.33) - NUM(T, 4.78) * log_f) * log_f)
#else
#define HATA_AREA(T, log_f) NUM(T, 0.0)
#endif

#define LOSS_okumura_hata(name, T, flag_t)                                                                            \
inline T name(T distance, T frequency, T base_height, T mobile_height)                                                \
{                                                                                                                     \
    const T log_f = log10(frequency), log_b = log10(base_height);                                                     \
    return NUM(T, 69.55) + NUM(T, 26.16) * log_f - NUM(T, 13.82) * log_b                                              \
        - (HATA_GAIN(T, frequency, log_f, mobile_height))                                                             \
        + (NUM(T, 44.9) - NUM(T, 6.55) * log_b) * log10(distance) + HATA_AREA(T, log_f);                              \
}

#define LOSS_cost231_hata(name, T, flag_t)                                                                            \
inline T name(T distance, T frequency, T base_height, T mobile_height)                                                \
{                                                                                                                     \
    const T log_f = log10(frequency), log_b = log10(base_height);                                                     \
    return NUM(T, 46.3) + NUM(T, 33.9) * log_f - NUM(T, 13.82) * log_b - (MEDIUM_CITY(T, log_f, mobile_height))       \
        + (NUM(T, 44.9) - NUM(T, 6.55) * log_b) * log10(distance) + NUM(T, 3.0) * METROPOLITAN;                       \
}

// slant: the distance in space in m, its square, and the square of the height difference. With line of sight the loss
// is the greater of two terms: they are equal at the breakpoint 4 (hB - 1) (hM - 1) f / c on the ground.
#define URBAN_LINKS(T)                                                                                                \
    const T ground = distance * NUM(T, 1000.0), down = base_height - mobile_height;                                   \
    const T log_slant = NUM(T, 0.5) * log10(ground * ground + down * down);                                           \
    const T log_f = log10(frequency) - NUM(T, 3.0);                                                                   \
    const T turn = NUM(T, 4.0) * (base_height - NUM(T, 1.0)) * (mobile_height - NUM(T, 1.0)) * frequency              \
        * NUM(T, 0.0033333333333333335);                                                                              \
    const T log_turn = log10(turn * turn + down * down)

#define LOSS_urban_macro(name, T, flag_t)                                                                             \
inline T name(T distance, T frequency, T base_height, T mobile_height, flag_t line_of_sight)                          \
{                                                                                                                     \
    URBAN_LINKS(T);                                                                                                   \
    const T near = NUM(T, 28.0) + NUM(T, 22.0) * log_slant + NUM(T, 20.0) * log_f;                                    \
    const T far = NUM(T, 28.0) + NUM(T, 40.0) * log_slant + NUM(T, 20.0) * log_f - NUM(T, 9.0) * log_turn;            \
    const T seen = far > near ? far : near;                                                                           \
    const T hidden = NUM(T, 13.54) + NUM(T, 39.08) * log_slant + NUM(T, 20.0) * log_f                                 \
        - NUM(T, 0.6) * (mobile_height - NUM(T, 1.5));                                                                \
    return (line_of_sight | (seen > hidden)) ? seen : hidden;                                                         \
}

#define LOSS_urban_micro(name, T, flag_t)                                                                             \
inline T name(T distance, T frequency, T base_height, T mobile_height, flag_t line_of_sight)                          \
{                                                                                                                     \
    URBAN_LINKS(T);                                                                                                   \
    const T near = NUM(T, 32.4) + NUM(T, 21.0) * log_slant + NUM(T, 20.0) * log_f;                                    \
    const T far = NUM(T, 32.4) + NUM(T, 40.0) * log_slant + NUM(T, 20.0) * log_f - NUM(T, 9.5) * log_turn;            \
    const T seen = far > near ? far : near;                                                                           \
    const T hidden = NUM(T, 22.4) + NUM(T, 35.3) * log_slant + NUM(T, 21.3) * log_f                                   \
        - NUM(T, 0.3) * (mobile_height - NUM(T, 1.5));                                                                \
    return (line_of_sight | (seen > hidden)) ? seen : hidden;                                                         \
}
