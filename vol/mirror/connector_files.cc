#include "mirror/connector_files.h"

#include "h5/connector.h"
#include "h5zarr/h5zarr.h"
#include "host/error_stack.h"
#include "mirror/hdf5_read.h"
#include "shadow/node_state.h"
#include "transfer/chunk_list.h"

namespace h5zarr::mirror {

Result<Handle> ConnectorFapl(const std::string& config) {
  const hid_t connector = H5VLget_connector_id_by_value(static_cast<H5VL_class_value_t>(H5ZARR_CONNECTOR_VALUE));
  if (connector < 0) return Hdf5Error("the connector");
  Handle fapl(H5Pcreate(H5P_FILE_ACCESS));
  const ConnectorInfo info{config};
  const bool set = fapl.valid() && H5Pset_vol(fapl.get(), connector, &info) >= 0;
  H5VLclose(connector);
  if (!set) return Hdf5Error("a file access list");
  return fapl;
}

std::shared_ptr<shadow::StoreFile> StoreOf(hid_t object, uint64_t* token) {
  H5O_info2_t info;
  if (H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) return nullptr;
  *token = host::TokenKey(info.token);
  return GetConnector().stores.ByFileNumber(info.fileno);
}

const zarr::ArrayMetadata* DocumentOf(hid_t dataset) {
  uint64_t token = 0;
  const auto store = StoreOf(dataset, &token);
  const shadow::NodePtr node = store != nullptr ? store->FindNode(token) : nullptr;
  return node != nullptr && node->node.is_array() ? &node->node.array() : nullptr;
}

Status IterateChunks(hid_t dataset, H5D_chunk_iter_op_t op, void* opaque) {
  const Handle space(H5Dget_space(dataset)), dcpl(H5Dget_create_plist(dataset));
  uint64_t token = 0;
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
  if (StoreOf(dataset, &token) == nullptr && H5Dget_chunk_index_type(dataset, &index) >= 0) {
    H5ZARR_ASSIGN_OR_RETURN(const auto grid, transfer::NativeGrid::Of(space.get(), dcpl.get()));
    if (transfer::TellsOtherCoords(index, grid)) {
      hsize_t stored_chunks = 0;
      if (H5Dget_num_chunks(dataset, H5S_ALL, &stored_chunks) < 0) return Hdf5Error("its chunks");
      const host::KeepErrors keep;
      const host::QuietErrors quiet;
      const auto bytes_at = [dataset](const hsize_t* coords) -> uint64_t {
        hsize_t bytes = 0;
        return H5Dget_chunk_storage_size(dataset, coords, &bytes) >= 0 ? bytes : 0;
      };
      return transfer::IterateGrid(grid, stored_chunks, bytes_at, op, opaque);
    }
  }
  return H5Dchunk_iter(dataset, H5P_DEFAULT, op, opaque) < 0 ? Hdf5Error("its chunks") : OkStatus();
}

}  // namespace h5zarr::mirror
