// portable.h: the first include of every kernel. The macros CLGEOM_* are set from the device's profile.
#ifndef CLGEOM_FP64
#define CLGEOM_FP64 1        // the device computes in double
#endif
#ifndef CLGEOM_DENORMALS
#define CLGEOM_DENORMALS 1   // float arithmetic keeps subnormals
#endif
#ifndef CLGEOM_IN_PLACE
#define CLGEOM_IN_PLACE 1    // kernels read the caller's memory, which is aligned for scalars only
#endif
#ifndef CLGEOM_NARROW
#define CLGEOM_NARROW        // attribute of kernels that need many registers: sub-groups of 16 instead of 32
#endif

// Vector i of an array of scalars, in one load where memory is aligned for that.
#if CLGEOM_IN_PLACE
#define CLGEOM_LOAD2(scalar, array, i) vload2(i, array)
#define CLGEOM_LOAD4(scalar, array, i) vload4(i, array)
#else
#define CLGEOM_LOAD2(scalar, array, i) (((global const scalar##2 *)(array))[i])
#define CLGEOM_LOAD4(scalar, array, i) (((global const scalar##4 *)(array))[i])
#endif

#pragma OPENCL FP_CONTRACT OFF  // a * b + c rounds twice unless fma() is written: signs depend on it
#if CLGEOM_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
