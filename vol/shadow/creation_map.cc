#include "shadow/creation_map.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/error_stack.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/json_text.h"

namespace h5zarr::shadow {
namespace {

constexpr std::string_view kMember = "creation";
constexpr unsigned kOfFile = static_cast<unsigned>(CreationKind::kFile);
constexpr unsigned kOfGroup = static_cast<unsigned>(CreationKind::kGroup);
constexpr unsigned kOfDataset = static_cast<unsigned>(CreationKind::kDataset);
constexpr unsigned kOfDatatype = static_cast<unsigned>(CreationKind::kDatatype);
constexpr unsigned kOfGroups = kOfFile | kOfGroup;  // a file's list is that of its root, too
constexpr unsigned kOfAll = kOfGroups | kOfDataset | kOfDatatype;

// What a property says. One that does not apply to a list says nothing.
using Numbers = std::vector<uint64_t>;

template <typename T>
T As(uint64_t number) {
  return number > std::numeric_limits<T>::max() ? std::numeric_limits<T>::max() : static_cast<T>(number);
}

// Properties of one or two numbers, all of them of the type T.
template <typename T, herr_t (*kGet)(hid_t, T*)>
Numbers GetOne(hid_t list) {
  T value{};
  return kGet(list, &value) < 0 ? Numbers{} : Numbers{static_cast<uint64_t>(value)};
}
template <typename T, herr_t (*kSet)(hid_t, T)>
bool SetOne(hid_t list, const Numbers& numbers) {
  return numbers.size() == 1 && kSet(list, As<T>(numbers[0])) >= 0;
}
template <typename T, herr_t (*kGet)(hid_t, T*, T*)>
Numbers GetTwo(hid_t list) {
  T first{}, second{};
  return kGet(list, &first, &second) < 0 ? Numbers{} : Numbers{first, second};
}
template <typename T, herr_t (*kSet)(hid_t, T, T)>
bool SetTwo(hid_t list, const Numbers& numbers) {
  return numbers.size() == 2 && kSet(list, As<T>(numbers[0]), As<T>(numbers[1])) >= 0;
}

Numbers GetFileSpace(hid_t list) {
  H5F_fspace_strategy_t strategy{};
  hbool_t persist = false;
  hsize_t threshold = 0;
  if (H5Pget_file_space_strategy(list, &strategy, &persist, &threshold) < 0) return {};
  return {static_cast<uint64_t>(strategy), static_cast<uint64_t>(persist), threshold};
}
bool SetFileSpace(hid_t list, const Numbers& numbers) {
  return numbers.size() == 3 && numbers[0] < H5F_FSPACE_STRATEGY_NTYPES && numbers[1] <= 1 &&
         H5Pset_file_space_strategy(list, static_cast<H5F_fspace_strategy_t>(numbers[0]), numbers[1] == 1,
                                    numbers[2]) >= 0;
}

// Shared messages: which kinds, and from what size, an index each.
Numbers GetSharedMessages(hid_t list) {
  unsigned indexes = 0;
  Numbers numbers;
  if (H5Pget_shared_mesg_nindexes(list, &indexes) < 0) return {};
  for (unsigned i = 0; i < indexes; ++i) {
    unsigned kinds = 0, min_bytes = 0;
    if (H5Pget_shared_mesg_index(list, i, &kinds, &min_bytes) < 0) return {};
    numbers.insert(numbers.end(), {kinds, min_bytes});
  }
  return numbers;
}
bool SetSharedMessages(hid_t list, const Numbers& numbers) {
  const std::size_t indexes = numbers.size() / 2;
  if (numbers.size() % 2 != 0 || indexes > H5O_SHMESG_MAX_NINDEXES ||
      H5Pset_shared_mesg_nindexes(list, static_cast<unsigned>(indexes)) < 0) {
    return false;
  }
  for (std::size_t i = 0; i < indexes; ++i) {
    if (H5Pset_shared_mesg_index(list, static_cast<unsigned>(i), As<unsigned>(numbers[2 * i]),
                                 As<unsigned>(numbers[2 * i + 1])) < 0) {
      return false;
    }
  }
  return true;
}

// A creation order that is tracked is indexed in the shadow, and seldom only tracked.
template <herr_t (*kGet)(hid_t, unsigned*)>
Numbers GetOrder(hid_t list) {
  unsigned order = 0;
  if (kGet(list, &order) < 0 || order != H5P_CRT_ORDER_TRACKED) return {};
  return {order};
}

Numbers GetChunkOptions(hid_t list) {
  unsigned options = 0;
  if (H5Pget_layout(list) != H5D_CHUNKED || H5Pget_chunk_opts(list, &options) < 0) return {};
  return options == 0 ? Numbers{} : Numbers{options};
}

struct Property {
  const char* name;
  unsigned kinds;
  Numbers (*get)(hid_t list);
  bool (*set)(hid_t list, const Numbers& numbers);
};

constexpr Property kProperties[] = {
    {"user_block", kOfFile, GetOne<hsize_t, H5Pget_userblock>, SetOne<hsize_t, H5Pset_userblock>},
    {"sizes", kOfFile, GetTwo<std::size_t, H5Pget_sizes>, SetTwo<std::size_t, H5Pset_sizes>},
    {"sym_k", kOfFile, GetTwo<unsigned, H5Pget_sym_k>, SetTwo<unsigned, H5Pset_sym_k>},
    {"istore_k", kOfFile, GetOne<unsigned, H5Pget_istore_k>, SetOne<unsigned, H5Pset_istore_k>},
    {"file_space", kOfFile, GetFileSpace, SetFileSpace},
    {"file_space_page", kOfFile, GetOne<hsize_t, H5Pget_file_space_page_size>,
     SetOne<hsize_t, H5Pset_file_space_page_size>},
    {"shared_messages", kOfFile, GetSharedMessages, SetSharedMessages},
    {"shared_phase_change", kOfFile, GetTwo<unsigned, H5Pget_shared_mesg_phase_change>,
     SetTwo<unsigned, H5Pset_shared_mesg_phase_change>},
    {"local_heap_hint", kOfGroups, GetOne<std::size_t, H5Pget_local_heap_size_hint>,
     SetOne<std::size_t, H5Pset_local_heap_size_hint>},
    {"link_phase_change", kOfGroups, GetTwo<unsigned, H5Pget_link_phase_change>,
     SetTwo<unsigned, H5Pset_link_phase_change>},
    {"link_estimates", kOfGroups, GetTwo<unsigned, H5Pget_est_link_info>, SetTwo<unsigned, H5Pset_est_link_info>},
    {"link_order", kOfGroups, GetOrder<H5Pget_link_creation_order>, SetOne<unsigned, H5Pset_link_creation_order>},
    {"attr_phase_change", kOfAll, GetTwo<unsigned, H5Pget_attr_phase_change>,
     SetTwo<unsigned, H5Pset_attr_phase_change>},
    {"attr_order", kOfAll, GetOrder<H5Pget_attr_creation_order>, SetOne<unsigned, H5Pset_attr_creation_order>},
    {"chunk_options", kOfDataset, GetChunkOptions, SetOne<unsigned, H5Pset_chunk_opts>},
    {"no_attributes_hint", kOfDataset, GetOne<hbool_t, H5Pget_dset_no_attrs_hint>,
     SetOne<hbool_t, H5Pset_dset_no_attrs_hint>},
};

hid_t DefaultList(CreationKind kind) {
  switch (kind) {
    case CreationKind::kFile: return H5P_LST_FILE_CREATE_ID_g;
    case CreationKind::kGroup: return H5P_LST_GROUP_CREATE_ID_g;
    case CreationKind::kDataset: return H5P_LST_DATASET_CREATE_ID_g;
    case CreationKind::kDatatype: return H5P_LST_DATATYPE_CREATE_ID_g;
  }
  return H5I_INVALID_HID;
}

// A number, or a list of them.
bool FromJson(const Json& json, Numbers* numbers) {
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& item : list) {
    const std::optional<uint64_t> number = AsUnsigned(item);
    if (!number) return false;
    numbers->push_back(*number);
  }
  return true;
}

}  // namespace

void NoteCreation(CreationKind kind, hid_t list, Json* attributes) {
  const hid_t defaults = DefaultList(kind);
  if (list == defaults) return;
  Json creation = Json::object();
  for (const Property& property : kProperties) {
    if ((property.kinds & static_cast<unsigned>(kind)) == 0) continue;
    const Numbers numbers = property.get(list);
    if (numbers.empty() || numbers == property.get(defaults)) continue;
    creation[property.name] = numbers.size() == 1 ? Json(numbers[0]) : Json(numbers);
  }
  if (!creation.empty()) SetHdf5Member(attributes, kMember, std::move(creation));
}

Status RestoreCreation(CreationKind kind, const Json& attributes, hid_t list) {
  const Json creation = Hdf5Member(attributes, kMember);
  if (!creation.is_object()) return OkStatus();
  host::QuietErrors quiet;
  for (const Property& property : kProperties) {
    if ((property.kinds & static_cast<unsigned>(kind)) == 0) continue;
    const auto noted = creation.find(property.name);
    if (noted == creation.end()) continue;
    Numbers numbers;
    if (!FromJson(*noted, &numbers) || !property.set(list, numbers)) {
      return CorruptError("_hdf5.creation." + std::string(property.name) + " " + zarr::BriefJson(*noted) +
                          " is nothing that HDF5 takes");
    }
  }
  return OkStatus();
}

}  // namespace h5zarr::shadow
