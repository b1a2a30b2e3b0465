// radio/rural.h: rural macro cells of 3GPP TR 38.901 (table 7.4.1-1), beside radio/models.h and with its conventions.
//
// steep, drop, linear: by the buildings' height, the slope beside free space, its end, and the loss of each metre. With
// line of sight the loss behind the breakpoint on the ground, 2 pi hB hM f / c, grows with the fourth power of the
// distance in space from what the first formula has for the breakpoint's distance; c is 3e8 m/s, as printed.
#define LOSS_rural_macro(name, T, flag_t)                                                                             \
inline T name(T distance, T frequency, T base_height, T mobile_height, T roof_height, T street_width,                 \
              flag_t line_of_sight)                                                                                   \
{                                                                                                                     \
    const T ground = distance * NUM(T, 1000.0), down = base_height - mobile_height;                                   \
    const T slant = sqrt(ground * ground + down * down), log_slant = log10(slant);                                    \
    const T log_f = log10(frequency) - NUM(T, 3.0), log_b = log10(base_height), log_h = log10(roof_height);           \
    const T power = pow(roof_height, NUM(T, 1.72)), linear = NUM(T, 0.002) * log_h;                                   \
    const T steep = fmin(NUM(T, 0.03) * power, NUM(T, 10.0)), drop = fmin(NUM(T, 0.044) * power, NUM(T, 14.77));      \
    const T turn = NUM(T, 6.283185307179586) * base_height * mobile_height * frequency * NUM(T, 0.0033333333333333335); \
    const flag_t behind = ground > turn;                                                                              \
    const T along = behind ? turn : slant, log_along = behind ? log10(turn) : log_slant;                              \
    const T near = NUM(T, 32.441772186048674) + NUM(T, 20.0) * log_f - drop                                            \
        + (NUM(T, 20.0) + steep) * log_along + linear * along;                                                        \
    const T seen = near + NUM(T, 40.0) * (log_slant - log_along);                                                     \
    const T share = roof_height / base_height, mobile = log10(NUM(T, 11.75) * mobile_height);                         \
    const T hidden = NUM(T, 161.04) - NUM(T, 7.1) * log10(street_width) + NUM(T, 7.5) * log_h                         \
        - (NUM(T, 24.37) - NUM(T, 3.7) * share * share) * log_b                                                       \
        + (NUM(T, 43.42) - NUM(T, 3.1) * log_b) * (log_slant - NUM(T, 3.0)) + NUM(T, 20.0) * log_f                    \
        - (NUM(T, 3.2) * mobile * mobile - NUM(T, 4.97));                                                             \
    return (line_of_sight | (seen > hidden)) ? seen : hidden;                                                         \
}
