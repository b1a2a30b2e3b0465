// keys/payload.h: what a sort moves with its keys, and the parameters of kernels for that. After keys/bits.h.
//
// The includer may define
//
//   CLGEOM_STORES        1, the default: keys are stored; 0: only payloads
//   CLGEOM_PAYLOAD       CLGEOM_PAYLOAD_none, the default; _index: a key's number; _carry: moved with the key
//   CLGEOM_PAYLOAD_BITS, CLGEOM_PAYLOAD_OUT_BITS
//
// The parameters, none where there is no such memory, and what stands for them in calls:
//
//   PAYLOAD_PARAMETER       the payload that is read, with a comma behind it       PAYLOAD_OF(i) that of key i
//   KEYS_OUT_PARAMETER(t)   the sorted keys, with a comma before it                KEYS_OUT
//   PAYLOAD_OUT_PARAMETER   the payload that is written, with a comma before it
#define CLGEOM_PAYLOAD_none 0
#define CLGEOM_PAYLOAD_index 1
#define CLGEOM_PAYLOAD_carry 2
#ifndef CLGEOM_STORES
#define CLGEOM_STORES 1
#endif
#ifndef CLGEOM_PAYLOAD
#define CLGEOM_PAYLOAD CLGEOM_PAYLOAD_none
#endif

#if CLGEOM_PAYLOAD
typedef CLGEOM_BITS_T(CLGEOM_PAYLOAD_BITS) payload_t;
typedef CLGEOM_BITS_T(CLGEOM_PAYLOAD_OUT_BITS) payload_out_t;
#define PAYLOAD_OUT_PARAMETER , global payload_out_t *payload_out
#else
#define PAYLOAD_OUT_PARAMETER
#endif

#if CLGEOM_PAYLOAD == CLGEOM_PAYLOAD_carry
#define PAYLOAD_PARAMETER global const payload_t *payload,
#define PAYLOAD payload
#define PAYLOAD_OF(i) payload[i]
#else
#define PAYLOAD_PARAMETER
#define PAYLOAD 0
#define PAYLOAD_OF(i) (i)
#endif

#if CLGEOM_STORES
#define KEYS_OUT_PARAMETER(type) , global type *keys_out
#define KEYS_OUT keys_out
#else
#define KEYS_OUT_PARAMETER(type)
#define KEYS_OUT 0
#endif
