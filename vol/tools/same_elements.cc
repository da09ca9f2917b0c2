#include "tools/same_elements.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/handle.h"

namespace h5zarr::tools {
namespace {

using Bytes = const std::byte*;

// Compares one element of a type, taken apart once.
class Comparer {
 public:
  virtual ~Comparer() = default;
  virtual bool Same(Bytes a, Bytes b) const = 0;
};
using ComparerPtr = std::unique_ptr<Comparer>;

class BytesComparer : public Comparer {
 public:
  explicit BytesComparer(std::size_t bytes) : bytes_(bytes) {}
  bool Same(Bytes a, Bytes b) const override { return std::memcmp(a, b, bytes_) == 0; }

 private:
  const std::size_t bytes_;
};

class TextComparer : public Comparer {
 public:
  bool Same(Bytes a, Bytes b) const override { return TextAt(a) == TextAt(b); }

 private:
  static std::string TextAt(Bytes at) {
    const char* text = nullptr;
    std::memcpy(&text, at, sizeof text);
    return text != nullptr ? text : "";
  }
};

class ArrayComparer : public Comparer {
 public:
  ArrayComparer(ComparerPtr base, std::size_t base_bytes, std::size_t count)
      : base_(std::move(base)), base_bytes_(base_bytes), count_(count) {}
  bool Same(Bytes a, Bytes b) const override {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!base_->Same(a + i * base_bytes_, b + i * base_bytes_)) return false;
    }
    return true;
  }

 private:
  const ComparerPtr base_;
  const std::size_t base_bytes_, count_;
};

class SequenceComparer : public Comparer {
 public:
  SequenceComparer(ComparerPtr base, std::size_t base_bytes) : base_(std::move(base)), base_bytes_(base_bytes) {}
  bool Same(Bytes a, Bytes b) const override {
    hvl_t first, second;
    std::memcpy(&first, a, sizeof first);
    std::memcpy(&second, b, sizeof second);
    if (first.len != second.len) return false;
    for (std::size_t i = 0; i < first.len; ++i) {
      if (!base_->Same(static_cast<Bytes>(first.p) + i * base_bytes_, static_cast<Bytes>(second.p) + i * base_bytes_)) {
        return false;
      }
    }
    return true;
  }

 private:
  const ComparerPtr base_;
  const std::size_t base_bytes_;
};

class CompoundComparer : public Comparer {
 public:
  void Add(std::size_t offset, ComparerPtr member) { members_.push_back({offset, std::move(member)}); }
  bool Same(Bytes a, Bytes b) const override {
    return std::all_of(members_.begin(), members_.end(),
                       [&](const auto& member) { return member.second->Same(a + member.first, b + member.first); });
  }

 private:
  std::vector<std::pair<std::size_t, ComparerPtr>> members_;
};

std::string NameOf(hid_t object) {
  std::string name(4096, '\0');
  const ssize_t length = object >= 0 ? H5Iget_name(object, name.data(), name.size()) : -1;
  name.resize(static_cast<std::size_t>(std::clamp<ssize_t>(length, 0, 4095)));
  return name;
}

// What a selection is of, in words.
std::string SelectionText(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> first(static_cast<std::size_t>(std::max(rank, 1))), last(first.size());
  if (rank <= 0 || H5Sget_select_bounds(space, first.data(), last.data()) < 0) return "";
  std::string text = std::to_string(H5Sget_select_npoints(space));
  for (int d = 0; d < rank; ++d) {
    text += " " + std::to_string(first[d]) + "-" + std::to_string(last[d]);
  }
  return text;
}

class ReferenceComparer : public Comparer {
 public:
  ReferenceComparer(hid_t type, hid_t a, hid_t b) : type_(H5Tcopy(type)), a_(a), b_(b) {}
  bool Same(Bytes a, Bytes b) const override { return Words(a_, a) == Words(b_, b); }

 private:
  std::string Words(hid_t file, Bytes at) const {
    std::vector<std::byte> copy(at, at + H5Tget_size(type_.get()));
    std::string words;
    if (H5Tequal(type_.get(), H5T_STD_REF_OBJ) > 0) {
      const Handle target(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, copy.data()));
      words = NameOf(target.get());
    } else if (H5Tequal(type_.get(), H5T_STD_REF_DSETREG) > 0) {
      const Handle target(H5Rdereference2(file, H5P_DEFAULT, H5R_DATASET_REGION, copy.data()));
      const Handle region(H5Rget_region(file, H5R_DATASET_REGION, copy.data()));
      words = NameOf(target.get()) + (region.valid() ? SelectionText(region.get()) : "");
    } else {
      words = AnyWords(reinterpret_cast<H5R_ref_t*>(const_cast<std::byte*>(at)));
    }
    H5Eclear2(H5E_DEFAULT);
    return words;
  }

  static std::string AnyWords(H5R_ref_t* reference) {
    const Handle target(H5Ropen_object(reference, H5P_DEFAULT, H5P_DEFAULT));
    std::string words = NameOf(target.get());
    if (H5Rget_type(reference) == H5R_DATASET_REGION2) {
      const Handle region(H5Ropen_region(reference, H5P_DEFAULT, H5P_DEFAULT));
      if (region.valid()) words += SelectionText(region.get());
    } else if (H5Rget_type(reference) == H5R_ATTR) {
      std::string name(4096, '\0');
      if (H5Rget_attr_name(reference, name.data(), name.size()) > 0) words += "@" + name;
    }
    return words;
  }

  const Handle type_;
  const hid_t a_, b_;
};

ComparerPtr MakeComparer(hid_t type, hid_t a, hid_t b) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) return std::make_unique<TextComparer>();
      break;
    case H5T_REFERENCE: return std::make_unique<ReferenceComparer>(type, a, b);
    case H5T_VLEN: {
      const Handle base(H5Tget_super(type));
      return std::make_unique<SequenceComparer>(MakeComparer(base.get(), a, b), H5Tget_size(base.get()));
    }
    case H5T_ARRAY: {
      const Handle base(H5Tget_super(type));
      const std::size_t bytes = H5Tget_size(base.get());
      return std::make_unique<ArrayComparer>(MakeComparer(base.get(), a, b), bytes, H5Tget_size(type) / bytes);
    }
    case H5T_COMPOUND: {
      auto compound = std::make_unique<CompoundComparer>();
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const auto index = static_cast<unsigned>(i);
        const Handle member(H5Tget_member_type(type, index));
        compound->Add(H5Tget_member_offset(type, index), MakeComparer(member.get(), a, b));
      }
      return compound;
    }
    default: break;
  }
  return std::make_unique<BytesComparer>(H5Tget_size(type));
}

bool LeadsElsewhere(hid_t type) {
  return H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0 ||
         H5Tdetect_class(type, H5T_STRING) > 0;
}

}  // namespace

Difference CompareElements(hid_t type, const Side& a, const Side& b, uint64_t count) {
  const std::size_t bytes = H5Tget_size(type);
  Difference difference;
  // Most are the same, byte for byte.
  if (count == 0 || (!LeadsElsewhere(type) && std::memcmp(a.data, b.data, count * bytes) == 0)) {
    return difference;
  }
  const ComparerPtr comparer = MakeComparer(type, a.object, b.object);
  for (uint64_t i = 0; i < count; ++i) {
    if (comparer->Same(static_cast<Bytes>(a.data) + i * bytes, static_cast<Bytes>(b.data) + i * bytes)) {
      continue;
    }
    if (difference.elems++ == 0) difference.first = i;
  }
  return difference;
}

}  // namespace h5zarr::tools
