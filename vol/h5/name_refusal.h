// name_refusal: names that are neither stores nor files of HDF5, where more can be said than that.
#ifndef H5ZARR_H5_NAME_REFUSAL_H_
#define H5ZARR_H5_NAME_REFUSAL_H_

#include "base/status.h"
#include "h5/file_name.h"

namespace h5zarr {

// kUnsupported for a URL of a scheme that nothing here opens.
Status RefuseForeignUrl(const FileName& name);

// kUnsupported for a document of a Zarr store in place of its folder.
Status RefuseDocument(const FileName& name);

// kUnsupported for a folder that is no store.
Status RefuseFolder(const FileName& name);

// After HDF5 could not open it either: why a ZIP archive, by its ending, is no store. Ok for anything else.
Status WhyNoArchive(const FileName& name);

}  // namespace h5zarr

#endif  // H5ZARR_H5_NAME_REFUSAL_H_
