#include "view/image_driver.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/file_driver.h"
#include "host/guard.h"
#include "host/native.h"

namespace h5zarr::view {
namespace {

// What an access list carries.
using Access = std::shared_ptr<Image>;

struct ImageFile : host::DriverFile {
  ImageFile(Access of, bool is_made) : access(std::move(of)), being_made(is_made) {}
  Image* image() const { return access.get(); }

  const Access access;
  const bool being_made;
};

ImageFile* AsFile(H5FD_t* file) { return static_cast<ImageFile*>(file); }
const ImageFile* AsFile(const H5FD_t* file) { return static_cast<const ImageFile*>(file); }

H5FD_t* file_open(const char* name, unsigned flags, hid_t fapl, haddr_t longest) {
  (void)longest;
  return static_cast<H5FD_t*>(host::GuardPointer("view_open", [&]() -> Result<void*> {
    const auto* access = static_cast<const Access*>(H5Pget_driver_info(fapl));
    if (access == nullptr || (*access)->store().name() != name) {
      return InvalidArgumentError("'" + std::string(name) + "': the access list is that of a view of a Zarr store");
    }
    const bool being_made = (flags & H5F_ACC_CREAT) != 0;
    if (!being_made && (flags & H5F_ACC_RDWR) != 0) {
      return PermissionDeniedError("'" + std::string(name) + "': a view can only be read");
    }
    auto file = std::make_unique<ImageFile>(*access, being_made);
    file->image()->NoteOpened();
    return static_cast<H5FD_t*>(file.release());
  }));
}

herr_t file_close(H5FD_t* file) {
  return host::Guard("view_close", [&] {
    const std::unique_ptr<ImageFile> closed(AsFile(file));
    closed->image()->NoteClosed();
    return OkStatus();
  });
}

int file_cmp(const H5FD_t* a, const H5FD_t* b) {
  return host::CompareAddresses(AsFile(a)->image(), AsFile(b)->image());
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
  return made->image()->Allocate(type == H5FD_MEM_DRAW, bytes, &made->end_of_space);
}

herr_t file_set_eoa(H5FD_t* file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  AsFile(file)->end_of_space = end;
  if (AsFile(file)->being_made) AsFile(file)->image()->GrowTo(end);
  return 0;
}

haddr_t file_get_eof(const H5FD_t* file, H5FD_mem_t type) {
  (void)type;
  return AsFile(file)->image()->end();
}

herr_t file_read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, void* buffer) {
  (void)dxpl;
  return host::Guard("view_read", [&] {
    Image& image = *AsFile(file)->image();
    const MutableByteSpan out(static_cast<std::byte*>(buffer), bytes);
    return type == H5FD_MEM_DRAW ? image.Read(at, out) : image.ReadMetadata(at, out);
  });
}

herr_t file_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, const void* buffer) {
  (void)type;
  (void)dxpl;
  return host::Guard("view_write", [&]() -> Status {
    if (!AsFile(file)->being_made) return PermissionDeniedError("a view can only be read");
    return AsFile(file)->image()->held().Write(at, {static_cast<const std::byte*>(buffer), bytes});
  });
}

// Lists of sizes and buffers may end early, with 0 or null: what follows is as the last one.
herr_t file_read_selection(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, size_t count, hid_t mem_spaces[],
                           hid_t file_spaces[], haddr_t offsets[], size_t element_sizes[], void* buffers[]) {
  (void)type;
  (void)dxpl;
  return host::Guard("view_read", [&]() -> Status {
    std::vector<Piece> pieces(count);
    bool same_size = false, same_buffer = false;
    for (size_t i = 0; i < count; ++i) {
      same_size = same_size || element_sizes[i] == 0;
      same_buffer = same_buffer || buffers[i] == nullptr;
      if (i == 0 && (same_size || same_buffer)) return InvalidArgumentError("a read without a buffer");
      pieces[i] = {mem_spaces[i], file_spaces[i], offsets[i], same_size ? pieces[i - 1].elem_bytes : element_sizes[i],
                   same_buffer ? pieces[i - 1].buffer : static_cast<std::byte*>(buffers[i])};
    }
    return AsFile(file)->image()->ReadPieces(pieces);
  });
}

H5FD_class_t DriverClass() {
  H5FD_class_t driver = host::MakeDriverClass<ImageFile>(host::kViewDriver, "h5zarr_view");
  host::CarryAccess<ImageFile, Access>(&driver);
  driver.maxaddr = Image::kMostBytes;
  driver.open = file_open;
  driver.close = file_close;
  driver.cmp = file_cmp;
  driver.query = file_query;
  driver.alloc = file_alloc;
  driver.set_eoa = file_set_eoa;
  driver.get_eof = file_get_eof;
  driver.read = file_read;
  driver.write = file_write;
  driver.read_selection = file_read_selection;
  // Chunks never get an address that metadata had, without our being asked.
  for (int type = 0; type < H5FD_MEM_NTYPES; ++type) {
    driver.fl_map[type] = type == H5FD_MEM_DRAW ? H5FD_MEM_DRAW : H5FD_MEM_SUPER;
  }
  return driver;
}

host::Driver image_driver;

}  // namespace

void ForgetImageDriver() { image_driver.Forget(); }

Result<Handle> ImageFapl(hid_t fapl, std::shared_ptr<Image> image) {
  Handle list(H5Pcopy(fapl));
  int elements = 0;
  std::size_t slots = 0, bytes = 0;
  double preemption = 0;
  if (!list.valid() || H5Pset_vol(list.get(), host::NativeConnector(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  H5ZARR_RETURN_IF_ERROR(image_driver.Set(list.get(), DriverClass(), &image));
  if (H5Pset_page_buffer_size(list.get(), 0, 0, 0) < 0 ||
      H5Pset_file_locking(list.get(), false, true) < 0 ||  // whatever each of several opens asks for
      H5Pget_cache(list.get(), &elements, &slots, &bytes, &preemption) < 0 ||
      H5Pset_cache(list.get(), elements, slots, 0, preemption) < 0) {
    return host::AlreadyReported();
  }
  return list;
}

}  // namespace h5zarr::view
