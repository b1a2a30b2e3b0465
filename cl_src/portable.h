// portable.h: what every kernel starts with. CLGEOM_* switches come from the device's profile.
#ifndef CLGEOM_FP64
#define CLGEOM_FP64 1        // the device computes in double
#endif
#ifndef CLGEOM_DENORMALS
#define CLGEOM_DENORMALS 1   // float arithmetic keeps subnormals
#endif

#pragma OPENCL FP_CONTRACT OFF  // a * b + c rounds twice unless fma() is written: signs depend on it
#if CLGEOM_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
