// Transaction logs: what a version changed. Icechunk's own diff and rebase believe them.
#ifndef H5ZARR_ICECHUNK_TRANSACTION_H_
#define H5ZARR_ICECHUNK_TRANSACTION_H_

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "icechunk/ids.h"

namespace h5zarr::icechunk {

struct Transaction {
  std::set<NodeId> new_groups;
  std::set<NodeId> new_arrays;
  std::set<NodeId> deleted_groups;
  std::set<NodeId> deleted_arrays;
  std::set<NodeId> updated_groups;  // their documents
  std::set<NodeId> updated_arrays;
  std::map<NodeId, std::set<std::vector<uint32_t>>> updated_chunks;
};

// The file of the log that belongs to snapshot `id`, in version 1. kNoSpace.
Result<Buffer> EncodeTransaction(const ObjectId& id, const Transaction& transaction);

// The log in the file `file`, whose key is `key`. kCorrupt when it is damaged.
Result<Transaction> DecodeTransaction(std::string_view key, ByteSpan file);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_TRANSACTION_H_
