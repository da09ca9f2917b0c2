#include "mirror/connector_files.h"

#include "h5/connector.h"
#include "h5zarr/h5zarr.h"
#include "mirror/hdf5_read.h"
#include "shadow/node_state.h"

namespace h5zarr::mirror {

Result<Handle> ConnectorFapl(const std::string& config) {
  const hid_t connector =
      H5VLget_connector_id_by_value(static_cast<H5VL_class_value_t>(H5ZARR_CONNECTOR_VALUE));
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

}  // namespace h5zarr::mirror
