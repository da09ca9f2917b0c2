// libzip, loaded when the first archive is opened: it brings several libraries along that nobody else needs.
//
// Within store/ only.
#ifndef H5ZARR_STORE_ZIP_LIBRARY_H_
#define H5ZARR_STORE_ZIP_LIBRARY_H_

#include <zip.h>

#include "base/status.h"

namespace h5zarr {

// The functions we call, under their names without "zip_".
struct ZipLibrary {
  decltype(&zip_open) open;
  decltype(&zip_open_from_source) open_from_source;
  decltype(&zip_source_function_create) source_function_create;
  decltype(&zip_source_free) source_free;
  decltype(&zip_discard) discard;
  decltype(&zip_get_num_entries) get_num_entries;
  decltype(&zip_stat_index) stat_index;
  decltype(&zip_fopen_index) fopen_index;
  decltype(&zip_fread) fread;
  decltype(&zip_fseek) fseek;
  decltype(&zip_fclose) fclose;
  decltype(&zip_file_strerror) file_strerror;
  decltype(&zip_strerror) strerror;
  decltype(&zip_error_init_with_code) error_init_with_code;
  decltype(&zip_error_strerror) error_strerror;
  decltype(&zip_error_fini) error_fini;
};

// Loads the system's libzip, once; never unloaded. kUnsupported, saying why, where there is none.
// Thread-safe.
Result<const ZipLibrary*> LoadZipLibrary();

}  // namespace h5zarr

#endif  // H5ZARR_STORE_ZIP_LIBRARY_H_
