// external_list: the files of a dataset with external storage (H5Pset_external) as JSON. Internal to
// shadow/.
#ifndef H5ZARR_SHADOW_EXTERNAL_LIST_H_
#define H5ZARR_SHADOW_EXTERNAL_LIST_H_

#include <hdf5.h>

#include "base/status.h"
#include "shadow/json_text.h"

namespace h5zarr::shadow {

// `_hdf5.external` of a new dataset: its list of files, or null without one; and back (kCorrupt says what
// is wrong). Names are kept as the program gave them: relative ones are found as HDF5 finds them.
Result<Json> ExternalToJson(hid_t dcpl);
Status ExternalFromJson(const Json& external, hid_t dcpl);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_EXTERNAL_LIST_H_
