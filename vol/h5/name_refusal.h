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

// kUnsupported for a folder that is no store, or what the system says of one that it does not let us look into.
Status RefuseFolder(const FileName& name);

// What the system says of writing in a folder that this process may only read.
Status RefuseFolderToRead(const FileName& name);

// What these (and no others: any program's HDF5 asks this after any failed open) and WhyNoArchive say of the name.
// Cheap, and Ok for whatever HDF5 itself says more about.
Status WhyProbed(const FileName& name);

// Why a ZIP archive, by its ending, is no store. Ok for anything else.
Status WhyNoArchive(const FileName& name);

}  // namespace h5zarr

#endif  // H5ZARR_H5_NAME_REFUSAL_H_
