// keys/key_heads.h: where runs of equal keys begin in sorted keys. After keys/key_order.h.
//
//   key_begins(before, bits, apart)   1 if a key differs from the one before it. With `apart` 1 every NaN and NaT does.
inline uint key_begins(key_t before, key_t bits, key_t apart)
{
    return (key_digits(before, 0) != key_digits(bits, 0)) | (uint)(apart & key_nan_mask(bits));
}
