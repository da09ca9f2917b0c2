#include "h5/file_access.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "h5/connector.h"
#include "host/host_api.h"
#include "shadow/memory_driver.h"

namespace h5zarr {
namespace {

using shadow::StoreFile;

// The page buffer is of no use to a shadow. It is that of an HDF5 file: of whole pages, only where the
// file has pages.
Status FitPageBuffer(const StoreFile& store, shadow::FileAccess* access) {
  if (access->page_buffer_bytes == 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle fcpl, store.ProgramFcpl());
  hsize_t page_bytes = 0, threshold = 0;
  H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_FSM_AGGR;
  hbool_t persist = false;
  if (H5Pget_file_space_strategy(fcpl.get(), &strategy, &persist, &threshold) < 0 ||
      H5Pget_file_space_page_size(fcpl.get(), &page_bytes) < 0) {
    return host::AlreadyReported();
  }
  const bool paged = strategy == H5F_FSPACE_STRATEGY_PAGE;
  if (store.created() && (!paged || access->page_buffer_bytes < page_bytes)) {
    return InvalidArgumentError("a page buffer needs a file space strategy of pages, and one page");
  }
  if (!paged) {
    access->page_buffer_bytes = access->metadata_percent = access->raw_percent = 0;
    return OkStatus();
  }
  const hsize_t bytes = std::max<hsize_t>(access->page_buffer_bytes, page_bytes);
  access->page_buffer_bytes = bytes - bytes % page_bytes;
  return OkStatus();
}

bool LockingSetByEnvironment() {
  const char* variable = std::getenv("HDF5_USE_FILE_LOCKING");
  if (variable == nullptr) return false;
  static constexpr std::string_view kWords[] = {"FALSE", "0", "TRUE", "1", "BEST_EFFORT"};
  return std::find(std::begin(kWords), std::end(kWords), variable) != std::end(kWords);
}

}  // namespace

Result<Handle> NativeFapl(hid_t fapl) {
  Handle copy(H5Pcopy(fapl));
  if (!copy.valid() || H5Pset_vol(copy.get(), host::NativeConnector(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return copy;
}

bool HasDefaultDriver(hid_t fapl) { return H5Pget_driver(fapl) == H5Pget_driver(H5P_LST_FILE_ACCESS_ID_g); }

Result<Handle> ShadowFapl(hid_t fapl) {
  H5ZARR_ASSIGN_OR_RETURN(Handle shadow, NativeFapl(fapl));
  // In memory, the newest format (smallest, and attributes of any size).
  const auto newest = static_cast<H5F_libver_t>(host::HostVersion().major >= 2 ? 5 : 4);
  H5ZARR_RETURN_IF_ERROR(shadow::SetMemoryDriver(shadow.get()));
  if (H5Pset_libver_bounds(shadow.get(), H5F_LIBVER_V114, newest) < 0 ||
      H5Pset_page_buffer_size(shadow.get(), 0, 0, 0) < 0) {
    return host::AlreadyReported();
  }
  return shadow;
}

Result<shadow::FileAccess> AccessOf(const StoreFile& store, hid_t fapl, unsigned flags) {
  shadow::FileAccess access;
  access.swmr_flags = flags & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE);
  if (H5Pget_page_buffer_size(fapl, &access.page_buffer_bytes, &access.metadata_percent, &access.raw_percent) < 0) {
    return host::AlreadyReported();
  }
  H5ZARR_RETURN_IF_ERROR(FitPageBuffer(store, &access));
  return access;
}

Status CheckSecondOpen(const StoreFile& store, host::NativeObject file, hid_t fapl, unsigned flags) {
  const auto refuse = [&store](const std::string& why) {
    return Status(StatusCode::kPermissionDenied, "'" + store.name() + "' is open already: " + why, EAGAIN);
  };
  const unsigned open_swmr = store.access().swmr_flags;
  if ((flags & H5F_ACC_SWMR_WRITE) != 0 && (open_swmr & H5F_ACC_SWMR_WRITE) == 0) {
    return refuse("not as a single writer");
  }
  if ((flags & H5F_ACC_SWMR_READ) != 0 && open_swmr == 0 && !store.writable()) {
    return refuse("not as a reader beside a single writer");
  }
  if (file.under == nullptr || LockingSetByEnvironment()) return OkStatus();
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_FAPL;
  H5ZARR_RETURN_IF_ERROR(
      NativeStatus(H5VLfile_get(file.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
  const Handle open_fapl(args.args.get_fapl.fapl_id);
  hbool_t open_locks = false, open_lenient = false, locks = false, lenient = false;
  if (H5Pget_file_locking(open_fapl.get(), &open_locks, &open_lenient) < 0 ||
      H5Pget_file_locking(fapl, &locks, &lenient) < 0) {
    return host::AlreadyReported();
  }
  // (Nothing is locked: among readers it makes no difference what each of them asked for.)
  const bool differ = locks != open_locks || (locks && lenient != open_lenient);
  if (differ && store.writable()) {
    return refuse("file locking flag values don't match");
  }
  return OkStatus();
}

Status AnswerFapl(const StoreFile& store, hid_t fapl) {
  // That the shadow is in memory, and of which format, is nobody's business.
  const hid_t driver = H5Pget_driver(H5P_LST_FILE_ACCESS_ID_g);
  const shadow::FileAccess& access = store.access();
  const shadow::FormatBounds bounds = store.format_bounds();
  if (H5Pset_driver(fapl, driver, nullptr) < 0 || H5Pset_libver_bounds(fapl, bounds.low, bounds.high) < 0 ||
      H5Pset_page_buffer_size(fapl, access.page_buffer_bytes, access.metadata_percent, access.raw_percent) < 0) {
    return host::AlreadyReported();
  }
  return OkStatus();
}

}  // namespace h5zarr
