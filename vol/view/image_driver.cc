#include "view/image_driver.h"

#include <H5FDdevelop.h>

#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "host/guard.h"
#include "host/native.h"

namespace h5zarr::view {
namespace {

// In HDF5's range for testing, as the connector's own value is.
constexpr H5FD_class_value_t kDriverValue = 480;

// What an access list holds of a driver.
struct ImageInfo {
  std::shared_ptr<Image> image;
};

struct ImageFile {
  H5FD_t pub;  // HDF5's own part, first
  std::shared_ptr<Image> image;
  haddr_t end = 0;
  bool being_made = false;
};

ImageFile* AsFile(H5FD_t* file) { return reinterpret_cast<ImageFile*>(file); }
const ImageFile* AsFile(const H5FD_t* file) { return reinterpret_cast<const ImageFile*>(file); }

void* fapl_copy(const void* info) { return new (std::nothrow) ImageInfo(*static_cast<const ImageInfo*>(info)); }

herr_t fapl_free(void* info) {
  delete static_cast<ImageInfo*>(info);
  return 0;
}

void* fapl_get(H5FD_t* file) { return new (std::nothrow) ImageInfo{AsFile(file)->image}; }

H5FD_t* file_open(const char* name, unsigned flags, hid_t fapl, haddr_t longest) {
  (void)longest;
  return static_cast<H5FD_t*>(host::GuardPointer("view_open", [&]() -> Result<void*> {
    const auto* info = static_cast<const ImageInfo*>(H5Pget_driver_info(fapl));
    if (info == nullptr || info->image->store().name() != name) {
      return InvalidArgumentError("'" + std::string(name) +
                                  "': the access list is that of a view of a Zarr store");
    }
    auto file = std::make_unique<ImageFile>();
    std::memset(&file->pub, 0, sizeof file->pub);
    file->image = info->image;
    file->being_made = (flags & H5F_ACC_CREAT) != 0;
    if (!file->being_made && (flags & H5F_ACC_RDWR) != 0) {
      return PermissionDeniedError("'" + std::string(name) + "': a view can only be read");
    }
    file->image->NoteOpened();
    return static_cast<void*>(file.release());
  }));
}

herr_t file_close(H5FD_t* file) {
  return host::Guard("view_close", [&] {
    const std::unique_ptr<ImageFile> closed(AsFile(file));
    closed->image->NoteClosed();
    return OkStatus();
  });
}

int file_cmp(const H5FD_t* a, const H5FD_t* b) {
  const Image* const first = AsFile(a)->image.get();
  const Image* const second = AsFile(b)->image.get();
  if (first == second) return 0;
  return std::less<>()(first, second) ? -1 : 1;
}

// Without H5FD_FEAT_ACCUMULATE_METADATA each read begins where the object does that HDF5 wants (Image::Refuse).
herr_t file_query(const H5FD_t* file, unsigned long* flags) {
  (void)file;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t file_alloc(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, hsize_t bytes) {
  (void)dxpl;
  ImageFile* const made = AsFile(file);
  return made->image->Allocate(type == H5FD_MEM_DRAW, bytes, &made->end);
}

haddr_t file_get_eoa(const H5FD_t* file, H5FD_mem_t type) {
  (void)type;
  return AsFile(file)->end;
}

herr_t file_set_eoa(H5FD_t* file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  AsFile(file)->end = end;
  if (AsFile(file)->being_made) AsFile(file)->image->GrowTo(end);
  return 0;
}

haddr_t file_get_eof(const H5FD_t* file, H5FD_mem_t type) {
  (void)type;
  return AsFile(file)->image->end();
}

herr_t file_read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, void* buffer) {
  (void)type;
  (void)dxpl;
  return host::Guard("view_read", [&] {
    return AsFile(file)->image->Read(at, {static_cast<std::byte*>(buffer), bytes});
  });
}

herr_t file_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes,
                  const void* buffer) {
  (void)type;
  (void)dxpl;
  return host::Guard("view_write", [&]() -> Status {
    if (!AsFile(file)->being_made) return PermissionDeniedError("a view can only be read");
    return AsFile(file)->image->held().Write(at, {static_cast<const std::byte*>(buffer), bytes});
  });
}

// Lists of sizes and buffers may end early, with 0 or null: what follows is as the last one.
herr_t file_read_selection(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, size_t count,
                           hid_t mem_spaces[], hid_t file_spaces[], haddr_t offsets[],
                           size_t element_sizes[], void* buffers[]) {
  (void)type;
  (void)dxpl;
  return host::Guard("view_read", [&]() -> Status {
    std::vector<Piece> pieces(count);
    bool same_size = false, same_buffer = false;
    for (size_t i = 0; i < count; ++i) {
      same_size = same_size || element_sizes[i] == 0;
      same_buffer = same_buffer || buffers[i] == nullptr;
      if (i == 0 && (same_size || same_buffer)) return InvalidArgumentError("a read without a buffer");
      pieces[i] = {mem_spaces[i], file_spaces[i], offsets[i],
                   same_size ? pieces[i - 1].elem_bytes : element_sizes[i],
                   same_buffer ? pieces[i - 1].buffer : static_cast<std::byte*>(buffers[i])};
    }
    return AsFile(file)->image->ReadPieces(pieces);
  });
}

const H5FD_class_t* DriverClass() {
  static H5FD_class_t driver;
  std::memset(&driver, 0, sizeof driver);
  driver.version = H5FD_CLASS_VERSION;
  driver.value = kDriverValue;
  driver.name = "h5zarr_view";
  driver.maxaddr = Image::kMostBytes;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(ImageInfo);
  driver.fapl_get = fapl_get;
  driver.fapl_copy = fapl_copy;
  driver.fapl_free = fapl_free;
  driver.open = file_open;
  driver.close = file_close;
  driver.cmp = file_cmp;
  driver.query = file_query;
  driver.alloc = file_alloc;
  driver.get_eoa = file_get_eoa;
  driver.set_eoa = file_set_eoa;
  driver.get_eof = file_get_eof;
  driver.read = file_read;
  driver.write = file_write;
  driver.read_selection = file_read_selection;
  // Chunks never get an address that metadata had, without our being asked.
  for (int type = 0; type < H5FD_MEM_NTYPES; ++type) {
    driver.fl_map[type] = type == H5FD_MEM_DRAW ? H5FD_MEM_DRAW : H5FD_MEM_SUPER;
  }
  return &driver;
}

hid_t driver_id = H5I_INVALID_HID;

}  // namespace

void ForgetImageDriver() { driver_id = H5I_INVALID_HID; }

Result<Handle> ImageFapl(hid_t fapl, std::shared_ptr<Image> image) {
  if (driver_id < 0 || H5Iget_type(driver_id) != H5I_VFL) driver_id = H5FDregister(DriverClass());
  const ImageInfo info{std::move(image)};
  Handle list(H5Pcopy(fapl));
  int elements = 0;
  std::size_t slots = 0, bytes = 0;
  double preemption = 0;
  if (driver_id < 0 || !list.valid() ||
      H5Pset_vol(list.get(), host::NativeConnector(), nullptr) < 0 ||
      H5Pset_driver(list.get(), driver_id, &info) < 0 ||
      H5Pset_page_buffer_size(list.get(), 0, 0, 0) < 0 ||
      H5Pset_file_locking(list.get(), false, true) < 0 ||  // whatever each of several opens asks for
      H5Pget_cache(list.get(), &elements, &slots, &bytes, &preemption) < 0 ||
      H5Pset_cache(list.get(), elements, slots, 0, preemption) < 0) {
    return host::AlreadyReported();
  }
  return list;
}

}  // namespace h5zarr::view
