// A Store in this process's memory: for tests, and for data that has no place yet. Its locks
// exclude threads of this process.
#ifndef H5ZARR_STORE_MEMORY_STORE_H_
#define H5ZARR_STORE_MEMORY_STORE_H_

#include <memory>

#include "store/store.h"

namespace h5zarr {

std::unique_ptr<Store> MakeMemoryStore();

}  // namespace h5zarr

#endif  // H5ZARR_STORE_MEMORY_STORE_H_
