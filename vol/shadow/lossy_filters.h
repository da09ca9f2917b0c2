// lossy_filters: what HDF5's lossy filters do to elements. Zarr's codecs store the elements as such a
// filter gives them back, so that every reader sees what HDF5 would. Internal to shadow/.
#ifndef H5ZARR_SHADOW_LOSSY_FILTERS_H_
#define H5ZARR_SHADOW_LOSSY_FILTERS_H_

#include <functional>
#include <span>

#include "base/buffer.h"
#include "base/status.h"
#include "shadow/filters_map.h"
#include "shadow/type_map.h"

namespace h5zarr::shadow {

// Changes the packed elements of one whole chunk in place. Thread-safe.
using ChunkEffect = std::function<void(MutableByteSpan chunk)>;

// The filters whose effect is known here: scale-offset and n-bit.
bool MayLose(int filter_id);

// The effect of a pipeline whose filters have been set up for the dataset (H5Pget_filter of the dataset's
// own list); empty where it changes nothing. Values, rounding and the treatment of the fill value are
// those of HDF5's filters.
Result<ChunkEffect> EffectOfFilters(std::span<const Filter> filters, const ElementMap& map);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_LOSSY_FILTERS_H_
