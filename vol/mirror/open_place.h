// The place of a mirror: where it is, and how it is written. Within mirror/ and tools/.
#ifndef H5ZARR_MIRROR_OPEN_PLACE_H_
#define H5ZARR_MIRROR_OPEN_PLACE_H_

#include <memory>
#include <string>

#include "base/config.h"
#include "base/status.h"
#include "store/store.h"

namespace h5zarr::mirror {

// The store at `location` (absolute, or a URL), for a mirror. A killed run, or a crash of the system, must leave what
// is visible whole: everything is synchronised. Packs go past the page cache, where `config` does not say otherwise:
// nobody reads them soon, and to copy them there takes longer than all else. Failures: those of OpenPlace.
Result<std::unique_ptr<Store>> OpenMirrorPlace(const std::string& location, bool writable, Config config);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_OPEN_PLACE_H_
