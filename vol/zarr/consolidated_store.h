// A store that cannot list, or is far away, seen through its consolidated metadata: they say which nodes there are.
#ifndef H5ZARR_ZARR_CONSOLIDATED_STORE_H_
#define H5ZARR_ZARR_CONSOLIDATED_STORE_H_

#include <memory>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr::zarr {

// A read-only store of the objects of `remote`. With consolidated metadata its documents are those that were
// consolidated, and no others; folders can be listed as far as documents lie below them. Without, documents that may
// not be read, or are web pages, are absent in it, but for the last that a node may have (.zgroup). Reads the root's
// document (v3), or it and .zmetadata (v2). kCorrupt when what is there cannot be taken apart; `if_parquet`, an error,
// where .zmetadata is that of references in Parquet files (kerchunk's), which looks the same, and whose chunks are no
// objects of the store.
Result<std::unique_ptr<Store>> ListByConsolidated(std::unique_ptr<Store> remote, const Status& if_parquet);

// Whether `text`, a .zmetadata, is that of references in Parquet files.
bool IsParquetReferences(std::string_view text);

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_CONSOLIDATED_STORE_H_
