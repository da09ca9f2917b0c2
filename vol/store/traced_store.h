// TracedStore: another store, with a line of trace for all that is asked of it.
#ifndef H5ZARR_STORE_TRACED_STORE_H_
#define H5ZARR_STORE_TRACED_STORE_H_

#include <memory>

#include "store/store.h"

namespace h5zarr {

// `store`, saying what it does (base/trace.h, levels 2 and 3). Thread-safe as `store` is.
std::unique_ptr<Store> MakeTracedStore(std::unique_ptr<Store> store);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_TRACED_STORE_H_
