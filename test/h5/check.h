// What the C programs of this folder share: a check that says where it failed.
#ifndef H5ZARR_TEST_CHECK_H_
#define H5ZARR_TEST_CHECK_H_

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      H5Eprint2(H5E_DEFAULT, stderr);                                 \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

#endif  // H5ZARR_TEST_CHECK_H_
