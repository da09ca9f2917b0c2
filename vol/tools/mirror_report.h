// The end of a run of `h5zarr mirror`, whatever it mirrored.
#ifndef H5ZARR_TOOLS_MIRROR_REPORT_H_
#define H5ZARR_TOOLS_MIRROR_REPORT_H_

#include <string>

#include "base/status.h"
#include "mirror/run_counts.h"
#include "store/store.h"
#include "tools/command.h"
#include "zarr/json.h"

namespace h5zarr::tools {

// "12 new chunks, 345 bytes; 6 objects written".
std::string CountsText(const mirror::RunCounts& counts);

// Verifies the repository in `store` where `words` say so, and then tells what was done: `json`, to which the
// counts are added, or `text`, or nothing. Fails as verifying does.
Status FinishMirror(Store* store, const Words& words, const mirror::RunCounts& counts, zarr::Json json,
                    const std::string& text);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_MIRROR_REPORT_H_
