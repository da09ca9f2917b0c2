// Catch2 of either generation: 3 (Debian 13) or 2 (Debian 12).
#ifndef H5ZARR_TEST_CATCH_H_
#define H5ZARR_TEST_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif  // H5ZARR_TEST_CATCH_H_
