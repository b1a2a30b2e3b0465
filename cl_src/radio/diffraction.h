// radio/diffraction.h: diffraction over knife edges. Source: ITU-R P.526-15, 4.1 and 4.5.1.

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
