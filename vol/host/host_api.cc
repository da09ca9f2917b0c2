#include "host/host_api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>

// --- forwarders ----------------------------------------------------------------------------------
// For each function a slot that holds its address in the host, and a hidden symbol of the function's
// name that jumps there. A jump, not a call: arguments (variadic ones too) stay where they are.

extern "C" {
#define H5ZARR_FUNCTION(name) __attribute__((visibility("hidden"), used)) void* h5zarr_slot_##name = nullptr;
#define H5ZARR_FUNCTION_ALIAS(name, other) H5ZARR_FUNCTION(name)
#define H5ZARR_FUNCTION_OPTIONAL(name) H5ZARR_FUNCTION(name)
#define H5ZARR_VARIABLE(name)
#include H5ZARR_HOST_FUNCTIONS
#undef H5ZARR_FUNCTION
}

#if defined(__x86_64__)
#define H5ZARR_FUNCTION(name)                                                              \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name \
          ":\n  jmp *h5zarr_slot_" #name "(%rip)\n.size " #name ", . - " #name "\n");
#elif defined(__aarch64__)
#define H5ZARR_FUNCTION(name)                                                               \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name  \
          ":\n  adrp x16, h5zarr_slot_" #name "\n  ldr x16, [x16, :lo12:h5zarr_slot_" #name \
          "]\n  br x16\n.size " #name ", . - " #name "\n");
#else
#error "h5zarr: write the forwarder for this processor"
#endif
#include H5ZARR_HOST_FUNCTIONS
#undef H5ZARR_FUNCTION
#undef H5ZARR_FUNCTION_ALIAS
#undef H5ZARR_FUNCTION_OPTIONAL
#undef H5ZARR_VARIABLE

// The host's identifiers, under their own names.
extern "C" {
#define H5ZARR_FUNCTION(name)
#define H5ZARR_FUNCTION_ALIAS(name, other)
#define H5ZARR_FUNCTION_OPTIONAL(name)
#define H5ZARR_VARIABLE(name) __attribute__((visibility("hidden"))) hid_t name = H5I_INVALID_HID;
#include H5ZARR_HOST_FUNCTIONS
}
#undef H5ZARR_FUNCTION
#undef H5ZARR_FUNCTION_ALIAS
#undef H5ZARR_FUNCTION_OPTIONAL
#undef H5ZARR_VARIABLE

// HDF5's headers put these two into macros (H5F_ACC_RDWR, H5T_NATIVE_INT …). The host is open whenever
// it calls us; and which versions the plugin works with is decided when it is bound, not by the headers
// it was compiled with.
extern "C" {
__attribute__((visibility("hidden"))) herr_t H5open(void) { return 0; }
__attribute__((visibility("hidden"))) herr_t H5check_version(unsigned, unsigned, unsigned) { return 0; }
}

namespace h5zarr::host {
namespace {

struct FunctionSlot {
  const char* name;
  const char* other;  // the name in newer hosts, or null
  void** slot;
  bool optional;
};

// Stands for an optional function that the host lacks: fails, as HDF5's functions do.
herr_t Absent() { return -1; }

#define H5ZARR_FUNCTION(name) {#name, nullptr, &h5zarr_slot_##name, false},
#define H5ZARR_FUNCTION_ALIAS(name, other) {#name, #other, &h5zarr_slot_##name, false},
#define H5ZARR_FUNCTION_OPTIONAL(name) {#name, nullptr, &h5zarr_slot_##name, true},
#define H5ZARR_VARIABLE(name)
constexpr FunctionSlot kFunctions[] = {
#include H5ZARR_HOST_FUNCTIONS
};
#undef H5ZARR_FUNCTION
#undef H5ZARR_FUNCTION_ALIAS
#undef H5ZARR_FUNCTION_OPTIONAL
#undef H5ZARR_VARIABLE

struct VariableSlot {
  const char* name;
  hid_t* value;
  const hid_t* in_host;  // null where the host does not have it
};

#define H5ZARR_FUNCTION(name)
#define H5ZARR_FUNCTION_ALIAS(name, other)
#define H5ZARR_FUNCTION_OPTIONAL(name)
#define H5ZARR_VARIABLE(name) {#name, &name, nullptr},
VariableSlot variables[] = {
#include H5ZARR_HOST_FUNCTIONS
};
#undef H5ZARR_FUNCTION
#undef H5ZARR_FUNCTION_ALIAS
#undef H5ZARR_FUNCTION_OPTIONAL
#undef H5ZARR_VARIABLE

constexpr unsigned kOldestMajor = 1, kOldestMinor = H5ZARR_HOST_OLDEST_MINOR;

const void* bound_base = nullptr;  // load address of the library this image serves
Version version;

// The library (or program) that `address` lies in, opened; null when it cannot be.
void* OpenLibraryOf(const Dl_info& info) {
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  // HDF5 linked into the program itself: its symbols are found through the program.
  return library != nullptr ? library : dlopen(nullptr, RTLD_LAZY);
}

bool CheckVersion(void* library, const char* path) {
  using GetVersion = herr_t (*)(unsigned*, unsigned*, unsigned*);
  using GetStack = hid_t (*)();
  using SetStack = herr_t (*)(hid_t);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "H5get_libversion"));
  const auto get_stack = reinterpret_cast<GetStack>(dlsym(library, "H5Eget_current_stack"));
  const auto set_stack = reinterpret_cast<SetStack>(dlsym(library, "H5Eset_current_stack"));
  // It may be a failed open that led the library to us: asking must not lose its error records.
  const hid_t stack = get_stack != nullptr ? get_stack() : H5I_INVALID_HID;
  const bool answered = get_version != nullptr && get_version(&version.major, &version.minor, &version.release) >= 0;
  if (stack >= 0 && set_stack != nullptr) set_stack(stack);
  if (!answered) {
    std::fprintf(stderr, "h5zarr: %s does not look like HDF5 (no H5get_libversion)\n", path);
    return false;
  }
  if (version.major < kOldestMajor || (version.major == kOldestMajor && version.minor < kOldestMinor)) {
    std::fprintf(stderr, "h5zarr: HDF5 %u.%u.%u in %s is too old: h5zarr needs HDF5 %u.%u or newer\n", version.major,
                 version.minor, version.release, path, kOldestMajor, kOldestMinor);
    return false;
  }
  return true;
}

bool Bind(const Dl_info& info) {
  void* library = OpenLibraryOf(info);
  if (library == nullptr) {
    std::fprintf(stderr, "h5zarr: cannot open %s: %s\n", info.dli_fname, dlerror());
    return false;
  }
  if (!CheckVersion(library, info.dli_fname)) return false;
  for (const FunctionSlot& function : kFunctions) {
    void* address = dlsym(library, function.name);
    if (address == nullptr && function.other != nullptr) address = dlsym(library, function.other);
    if (address == nullptr && function.optional) address = reinterpret_cast<void*>(&Absent);
    if (address == nullptr) {
      std::fprintf(stderr, "h5zarr: HDF5 %u.%u.%u in %s has no %s\n", version.major, version.minor, version.release,
                   info.dli_fname, function.name);
      return false;
    }
    *function.slot = address;
  }
  // A program that links its HDF5 may hold copies of the library's variables, which the library itself
  // then uses (copy relocations): where the library is in the program's own scope, ask that.
  const bool in_program_scope = dlsym(RTLD_DEFAULT, "H5get_libversion") == dlsym(library, "H5get_libversion");
  for (VariableSlot& variable : variables) {
    variable.in_host = static_cast<const hid_t*>(dlsym(in_program_scope ? RTLD_DEFAULT : library, variable.name));
  }
  bound_base = info.dli_fbase;
  return true;
}

// Loads a copy of this plugin under another name, so that it has variables of its own. The memory
// file stays open for ever: the loader knows images by name, and a reused descriptor would make it
// hand out the wrong one.
ImageEntry LoadAnotherImage(ImageEntry own_entry) {
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(own_entry), &own) == 0) return nullptr;
  const int source = open(own.dli_fname, O_RDONLY | O_CLOEXEC);
  const int copy = memfd_create("libh5zarr.so", MFD_CLOEXEC);
  if (source < 0 || copy < 0) {
    std::fprintf(stderr, "h5zarr: cannot copy %s for a second HDF5 library: %s\n", own.dli_fname, std::strerror(errno));
    if (source >= 0) close(source);
    if (copy >= 0) close(copy);
    return nullptr;
  }
  char block[1 << 16];
  bool complete = true;
  for (;;) {
    const ssize_t count = read(source, block, sizeof block);
    if (count == 0) break;
    if (count < 0 || write(copy, block, count) != count) {
      complete = false;
      break;
    }
  }
  close(source);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
  void* image = complete ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  struct link_map* map = nullptr;
  if (image == nullptr || dlinfo(image, RTLD_DI_LINKMAP, &map) != 0) {
    std::fprintf(stderr, "h5zarr: cannot load the plugin a second time: %s\n",
                 complete ? dlerror() : std::strerror(errno));
    close(copy);
    return nullptr;
  }
  const std::ptrdiff_t offset = reinterpret_cast<const char*>(own_entry) - static_cast<const char*>(own.dli_fbase);
  return reinterpret_cast<ImageEntry>(reinterpret_cast<char*>(map->l_addr) + offset);
}

}  // namespace

const void* BindOrFindImage(void* return_address, const void* own_class, ImageEntry own_entry) {
  Dl_info info;
  if (dladdr(return_address, &info) == 0) return nullptr;
  if (bound_base == nullptr) return Bind(info) ? own_class : nullptr;
  if (bound_base == info.dli_fbase) return own_class;

  // Leaked: images live as long as the process.
  static auto* images = new std::map<const void*, ImageEntry>;
  auto found = images->find(info.dli_fbase);
  if (found == images->end()) {
    const ImageEntry entry = LoadAnotherImage(own_entry);
    if (entry == nullptr) return nullptr;
    found = images->emplace(info.dli_fbase, entry).first;
  }
  return found->second(return_address);
}

void LoadVariables() {
  for (const VariableSlot& variable : variables) {
    if (variable.in_host != nullptr) *variable.value = *variable.in_host;
  }
}

Version HostVersion() { return version; }

bool HostIsTerminating() {
  hbool_t terminating = false;
  return H5is_library_terminating(&terminating) >= 0 && terminating;
}

bool HostTellsTermination() { return h5zarr_slot_H5is_library_terminating != reinterpret_cast<void*>(&Absent); }

}  // namespace h5zarr::host
