#include "store/zip_library.h"

#include "base/system_library.h"

namespace h5zarr {
namespace {

bool FindAll(const SystemLibrary& library, ZipLibrary* functions) {
  return library.Find("zip_open", &functions->open) &&
         library.Find("zip_open_from_source", &functions->open_from_source) &&
         library.Find("zip_source_function_create", &functions->source_function_create) &&
         library.Find("zip_source_free", &functions->source_free) && library.Find("zip_discard", &functions->discard) &&
         library.Find("zip_get_num_entries", &functions->get_num_entries) &&
         library.Find("zip_stat_index", &functions->stat_index) &&
         library.Find("zip_fopen_index", &functions->fopen_index) && library.Find("zip_fread", &functions->fread) &&
         library.Find("zip_fseek", &functions->fseek) && library.Find("zip_fclose", &functions->fclose) &&
         library.Find("zip_file_strerror", &functions->file_strerror) &&
         library.Find("zip_strerror", &functions->strerror) &&
         library.Find("zip_error_init_with_code", &functions->error_init_with_code) &&
         library.Find("zip_error_strerror", &functions->error_strerror) &&
         library.Find("zip_error_fini", &functions->error_fini);
}

Result<const ZipLibrary*> Load() {
  H5ZARR_ASSIGN_OR_RETURN(const SystemLibrary library,
                          SystemLibrary::Load("a ZIP archive", {"libzip.so.5", "libzip.so.4"}));
  ZipLibrary functions;
  if (!FindAll(library, &functions)) return UnsupportedError("ZIP archives need a newer libzip");
  return static_cast<const ZipLibrary*>(new ZipLibrary(functions));
}

}  // namespace

Result<const ZipLibrary*> LoadZipLibrary() {
  static const auto* const loaded = new Result<const ZipLibrary*>(Load());
  return *loaded;
}

}  // namespace h5zarr
