#include "transfer/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "host/error_stack.h"
#include "shadow/h5_types.h"
#include "transfer/elements.h"
#include "transfer/utf32.h"

namespace h5zarr::transfer {
namespace {

using Form = shadow::ElementMap::Form;

Status NoConversion() { return UnsupportedError("no appropriate function for conversion path"); }

Result<bool> TypesEqual(hid_t a, hid_t b) {
  const htri_t equal = H5Tequal(a, b);
  if (equal < 0) return InvalidArgumentError("invalid datatype");
  return equal > 0;
}

bool HoldsCompound(hid_t type) { return H5Tdetect_class(type, H5T_COMPOUND) > 0; }

// HDF5's own identifier of a number, or H5I_INVALID_HID.
hid_t PredefinedType(DType::Kind kind, uint64_t item_bytes, Endian endian) {
  const bool little = endian == Endian::kLittle;
  switch (kind) {
    case DType::Kind::kInt:
    case DType::Kind::kDatetime:
    case DType::Kind::kTimedelta:
      if (item_bytes == 1) return little ? H5T_STD_I8LE : H5T_STD_I8BE;
      if (item_bytes == 2) return little ? H5T_STD_I16LE : H5T_STD_I16BE;
      if (item_bytes == 4) return little ? H5T_STD_I32LE : H5T_STD_I32BE;
      if (item_bytes == 8) return little ? H5T_STD_I64LE : H5T_STD_I64BE;
      return H5I_INVALID_HID;
    case DType::Kind::kUint:
      if (item_bytes == 1) return little ? H5T_STD_U8LE : H5T_STD_U8BE;
      if (item_bytes == 2) return little ? H5T_STD_U16LE : H5T_STD_U16BE;
      if (item_bytes == 4) return little ? H5T_STD_U32LE : H5T_STD_U32BE;
      if (item_bytes == 8) return little ? H5T_STD_U64LE : H5T_STD_U64BE;
      return H5I_INVALID_HID;
    case DType::Kind::kFloat:
      if (item_bytes == 4) return little ? H5T_IEEE_F32LE : H5T_IEEE_F32BE;
      if (item_bytes == 8) return little ? H5T_IEEE_F64LE : H5T_IEEE_F64BE;
      return H5I_INVALID_HID;
    default: return H5I_INVALID_HID;
  }
}

// The same of an element that is one such number.
hid_t NumberOf(const shadow::ElementMap& element) {
  const DType& dtype = element.dtype;
  if (!element.hdf5_type.is_null() || !element.elem_dims.empty() || !dtype.format.empty()) {
    return H5I_INVALID_HID;
  }
  return PredefinedType(dtype.kind, dtype.item_bytes, dtype.endian);
}

}  // namespace

bool HasConversion(hid_t from, hid_t to) {
  // (A conversion of no elements would tell as well, but h5py's of enumerations fails then.)
  const host::QuietErrors quiet;
  H5T_cdata_t* data = nullptr;
  return H5Tfind(from, to, &data) != nullptr;
}

Status ConvertElements(hid_t from, hid_t to, uint64_t elems, std::byte* buffer, std::byte* background, hid_t dxpl) {
  const host::QuietErrors quiet;  // the caller reports
  if (H5Tconvert(from, to, elems, buffer, background, dxpl) >= 0) return OkStatus();
  return InvalidArgumentError("datatype conversion failed");
}

Result<Conversion> Conversion::Make(const shadow::ElementMap& element, hid_t mem_type, Direction direction, hid_t dxpl,
                                    const shadow::ReferenceResolver& references) {
  Conversion conversion(element, mem_type, dxpl, references);
  if (HoldsCompound(mem_type)) {
    // HDF5 sorts the members of the types it converts between: not of the program's own.
    conversion.mem_copy_ = Handle(H5Tcopy(mem_type));
    conversion.mem_type_ = conversion.mem_copy_.get();
  }
  H5ZARR_RETURN_IF_ERROR(conversion.Init(direction));
  return conversion;
}

Status Conversion::Init(Direction direction) {
  mem_bytes_ = H5Tget_size(mem_type_);
  if (mem_bytes_ == 0) return InvalidArgumentError("invalid datatype");
  stored_bytes_ = element_->stored_bytes();
  work_bytes_ = std::max(stored_bytes_, mem_bytes_);
  if (element_->form != Form::kPlain && element_->form != Form::kUtf32) {
    if (stored_bytes_ != sizeof(VlenRef)) {
      return UnsupportedError("arrays of variable-length elements");
    }
    H5ZARR_ASSIGN_OR_RETURN(allocator_, VlenAllocator::FromTransferList(dxpl_));
  }
  switch (element_->form) {
    case Form::kPlain: return InitNumber(direction) ? OkStatus() : InitPlain(direction);
    case Form::kUtf32:
      kind_ = Kind::kUtf32;
      utf32_parts_ = shadow::Utf32Parts(element_->dtype);
      return InitPlain(direction);
    case Form::kVlenString:
      // HDF5 has a conversion between character sets only sometimes (its cache of paths forgets
      // them); bytes are the same in both.
      kind_ = Kind::kVlenString;
      return H5Tis_variable_str(mem_type_) > 0 ? OkStatus() : NoConversion();
    case Form::kVlenSequence: return InitSequence(direction);
    case Form::kObjectReference: return InitReference(direction);
    case Form::kJsonElement: return InitJson(direction);
  }
  return InternalError("unknown form of element");
}

bool Conversion::IsNoop(const shadow::ElementMap& element, hid_t mem_type) {
  const hid_t stored = element.form == Form::kPlain ? NumberOf(element) : H5I_INVALID_HID;
  return stored >= 0 && (mem_type == stored || H5Tequal(mem_type, stored) > 0);
}

// The common case at the cost of one comparison: numbers that HDF5 has a predefined type for.
bool Conversion::InitNumber(Direction direction) {
  const DType& dtype = element_->dtype;
  const hid_t stored = NumberOf(*element_);
  if (stored < 0) return false;
  if (H5Tequal(mem_type_, stored) > 0) {
    kind_ = Kind::kNoop;
    return true;
  }
  const Endian other = dtype.endian == Endian::kLittle ? Endian::kBig : Endian::kLittle;
  if (mem_bytes_ == stored_bytes_) {
    const hid_t swapped = PredefinedType(dtype.kind, dtype.item_bytes, other);
    if (H5Tequal(mem_type_, swapped) <= 0) return false;
    if (stored_bytes_ == 1) {  // HDF5 tells orders of single bytes apart
      kind_ = Kind::kNoop;
      return true;
    }
    number_ = NumberConversion::Swap(stored_bytes_);
  } else if (dtype.kind == DType::Kind::kFloat && dtype.endian == Endian::kLittle &&
             std::endian::native == std::endian::little && !HasConversionCallback()) {
    const bool wide = dtype.item_bytes == 8;
    if (H5Tequal(mem_type_, wide ? H5T_IEEE_F32LE : H5T_IEEE_F64LE) <= 0) return false;
    const bool narrows = wide == (direction == Direction::kRead);
    number_ = narrows ? NumberConversion::DoubleToFloat() : NumberConversion::FloatToDouble();
  } else {
    return false;
  }
  kind_ = Kind::kNumber;
  return true;
}

// The program wants to be asked about values that do not fit.
bool Conversion::HasConversionCallback() const {
  if (dxpl_ == H5P_DEFAULT || dxpl_ == H5P_DATASET_XFER_DEFAULT) return false;
  H5T_conv_except_func_t function = nullptr;
  void* data = nullptr;
  return H5Pget_type_conv_cb(dxpl_, &function, &data) < 0 || function != nullptr;
}

// Compounds are stored in another byte order than the program gave them, perhaps. HDF5 converts enumerations
// by their names, so that values without one are lost, and h5py's conversion of integers to them fails: where
// a file would keep the elements as they are, they are converted as integers.
Status Conversion::TakeEnumsForIntegers(Handle* stored_type) {
  if (!HoldsCompound(mem_type_) || H5Tdetect_class(stored_type->get(), H5T_ENUM) <= 0) {
    return OkStatus();
  }
  H5ZARR_ASSIGN_OR_RETURN(const Handle reported, shadow::ReportedType(*element_));
  H5ZARR_ASSIGN_OR_RETURN(const Handle in_file, shadow::WithoutEnums(reported.get(), shadow::Layout::kPacked));
  H5ZARR_ASSIGN_OR_RETURN(const Handle in_memory, shadow::WithoutEnums(mem_type_, shadow::Layout::kPacked));
  H5ZARR_ASSIGN_OR_RETURN(const bool same, TypesEqual(in_file.get(), in_memory.get()));
  if (!same || !HasConversion(mem_type_, reported.get())) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(mem_copy_, shadow::WithoutEnums(mem_type_, shadow::Layout::kAsItIs));
  mem_type_ = mem_copy_.get();
  H5ZARR_ASSIGN_OR_RETURN(*stored_type, shadow::WithoutEnums(stored_type->get(), shadow::Layout::kAsItIs));
  return OkStatus();
}

Status Conversion::InitPlain(Direction direction) {
  H5ZARR_ASSIGN_OR_RETURN(Handle stored_type, shadow::StoredType(*element_));
  H5ZARR_RETURN_IF_ERROR(TakeEnumsForIntegers(&stored_type));
  H5ZARR_RETURN_IF_ERROR(InitTypes(std::move(stored_type), direction));
  if (type_bytes_ != stored_bytes_) {
    return InternalError("stored type has " + std::to_string(type_bytes_) + " bytes, elements " +
                         std::to_string(stored_bytes_));
  }
  if (kind_ != Kind::kUtf32) kind_ = types_equal_ ? Kind::kNoop : Kind::kType;
  return OkStatus();
}

Status Conversion::InitTypes(Handle stored_type, Direction direction) {
  stored_type_ = std::move(stored_type);
  type_bytes_ = H5Tget_size(stored_type_.get());
  H5ZARR_ASSIGN_OR_RETURN(types_equal_, TypesEqual(stored_type_.get(), mem_type_));
  work_bytes_ = std::max(work_bytes_, type_bytes_);
  if (types_equal_) return OkStatus();
  const bool read = direction == Direction::kRead;
  const hid_t from = read ? stored_type_.get() : mem_type_;
  const hid_t to = read ? mem_type_ : stored_type_.get();
  if (!HasConversion(from, to)) return NoConversion();
  // What HDF5 asks for: compounds, and arrays of them, have members that only one side may have.
  needs_background_ = HoldsCompound(from) && HoldsCompound(to);
  return OkStatus();
}

Status Conversion::InitSequence(Direction direction) {
  kind_ = Kind::kVlenSequence;
  if (H5Tget_class(mem_type_) != H5T_VLEN) return NoConversion();
  H5ZARR_ASSIGN_OR_RETURN(stored_item_, shadow::StoredItemType(*element_));
  mem_item_ = Handle(H5Tget_super(mem_type_));
  items_.stored_type = stored_item_.get();
  items_.mem_type = mem_item_.get();
  items_.stored_bytes = H5Tget_size(items_.stored_type);
  items_.mem_bytes = H5Tget_size(items_.mem_type);
  if (items_.stored_bytes == 0 || items_.mem_bytes == 0) {
    return InternalError("items of variable-length sequences without size");
  }
  H5ZARR_ASSIGN_OR_RETURN(items_.equal, TypesEqual(items_.stored_type, items_.mem_type));
  if (items_.equal) return OkStatus();
  const bool read = direction == Direction::kRead;
  if (!HasConversion(read ? items_.stored_type : items_.mem_type, read ? items_.mem_type : items_.stored_type)) {
    return NoConversion();
  }
  items_.compound = HoldsCompound(items_.stored_type) && HoldsCompound(items_.mem_type);
  return OkStatus();
}

Status Conversion::CheckDirection(Direction direction) const {
  if (direction == Direction::kRead || !element_->read_only) return OkStatus();
  return UnsupportedError("writing elements that another program keeps as JSON objects");
}

Status Conversion::InitReference(Direction direction) {
  H5ZARR_RETURN_IF_ERROR(CheckDirection(direction));
  kind_ = Kind::kReference;
  if (H5Tget_class(mem_type_) != H5T_REFERENCE) return NoConversion();
  const unsigned kind = shadow::ReferenceKinds(mem_type_);
  if (kind == shadow::kObjectReferences) return OkStatus();
  // As HDF5 does, which tools like h5dump count on.
  kind_ = Kind::kAnyReference;
  const bool read = direction == Direction::kRead;
  return kind == shadow::kAnyReferences && read ? OkStatus() : NoConversion();
}

Status Conversion::InitJson(Direction direction) {
  H5ZARR_RETURN_IF_ERROR(CheckDirection(direction));
  kind_ = Kind::kJson;
  H5ZARR_ASSIGN_OR_RETURN(Handle reported, shadow::ReportedType(*element_));
  const unsigned mem_kinds = shadow::ReferenceKinds(mem_type_);
  if ((mem_kinds & ~shadow::ReferenceKinds(reported.get())) != 0) {
    if (direction == Direction::kWrite || mem_kinds != shadow::kAnyReferences) {
      return NoConversion();
    }
    H5ZARR_ASSIGN_OR_RETURN(reported, shadow::WithAnyReferences(reported.get()));
  }
  H5ZARR_RETURN_IF_ERROR(InitTypes(std::move(reported), direction));
  if (direction == Direction::kRead) {
    if (allocator_.is_default()) return OkStatus();
    return UnsupportedError("H5Pset_vlen_mem_manager for elements with variable-length or reference members");
  }
  written_ = WrittenMembers::Of(mem_type_, stored_type_.get());
  needs_background_ = !written_.all();
  return OkStatus();
}

Status Conversion::RewriteTexts(std::byte* stored, uint64_t elems, bool to_utf8) const {
  const uint64_t item_bytes = element_->dtype.item_bytes;
  const uint64_t items = elems * (stored_bytes_ / item_bytes);
  for (uint64_t i = 0; i < items; ++i, stored += item_bytes) {
    for (const shadow::Utf32Part& part : utf32_parts_) {
      const MutableByteSpan texts(stored + part.offset_bytes, part.texts * part.text_bytes);
      H5ZARR_RETURN_IF_ERROR(to_utf8 ? Utf32ToUtf8(texts, part.text_bytes, part.endian)
                                     : Utf8ToUtf32(texts, part.text_bytes, part.endian));
    }
  }
  return OkStatus();
}

Status Conversion::ToMemory(std::byte* work, uint64_t elems, std::byte* background) {
  switch (kind_) {
    case Kind::kNoop: return OkStatus();
    case Kind::kNumber: return InternalError("numbers are converted on their way");
    case Kind::kUtf32:
      H5ZARR_RETURN_IF_ERROR(RewriteTexts(work, elems, true));
      if (types_equal_) return OkStatus();
      [[fallthrough]];
    case Kind::kType: return ConvertElements(stored_type_.get(), mem_type_, elems, work, background, dxpl_);
    case Kind::kVlenString: return StringsToMemory(work, elems, allocator_);
    case Kind::kVlenSequence: return SequencesToMemory(work, elems, items_, allocator_, dxpl_);
    case Kind::kReference: return ReferencesToMemory(work, elems, *references_);
    case Kind::kAnyReference: return AnyReferencesToMemory(work, elems, *references_);
    case Kind::kJson: break;
  }
  H5ZARR_RETURN_IF_ERROR(JsonToMemory(work, elems, stored_type_.get(), type_bytes_, *references_));
  if (types_equal_) return OkStatus();
  // The conversion makes copies of all variable-length parts and leaves those it read from to us.
  H5ZARR_ASSIGN_OR_RETURN(Buffer source, Buffer::CopyOf(ByteSpan(work, elems * type_bytes_)));
  const Status status = ConvertElements(stored_type_.get(), mem_type_, elems, work, background, dxpl_);
  ReclaimElements(source.data(), elems, stored_type_.get());
  return status;
}

Status Conversion::ToStored(std::byte* work, uint64_t elems, std::byte* background, VlenArena& arena) {
  switch (kind_) {
    case Kind::kNoop: return OkStatus();
    case Kind::kNumber: return InternalError("numbers are converted on their way");
    case Kind::kType: return ConvertElements(mem_type_, stored_type_.get(), elems, work, background, dxpl_);
    case Kind::kUtf32:
      if (needs_background_) H5ZARR_RETURN_IF_ERROR(RewriteTexts(background, elems, true));
      if (!types_equal_) {
        H5ZARR_RETURN_IF_ERROR(ConvertElements(mem_type_, stored_type_.get(), elems, work, background, dxpl_));
      }
      return RewriteTexts(work, elems, false);
    case Kind::kVlenString: return StringsToStored(work, elems);
    case Kind::kVlenSequence: return SequencesToStored(work, elems, items_, dxpl_, arena);
    case Kind::kReference: return ReferencesToStored(work, elems, *references_, arena);
    case Kind::kAnyReference: return NoConversion();
    case Kind::kJson: break;
  }
  if (types_equal_) {
    return JsonToStored(work, elems, stored_type_.get(), type_bytes_, *references_, arena);
  }
  // By the default list, so that what the conversion allocates comes from malloc. HDF5 sees no background but
  // zeros: members that the program's type lacks keep their text, whatever it says.
  H5ZARR_ASSIGN_OR_RETURN(Buffer zeros, Buffer::Allocate(elems * type_bytes_));
  std::memset(zeros.data(), 0, zeros.size_bytes());
  H5ZARR_RETURN_IF_ERROR(ConvertElements(mem_type_, stored_type_.get(), elems, work, zeros.data(), H5P_DEFAULT));
  H5ZARR_ASSIGN_OR_RETURN(Buffer converted, Buffer::CopyOf(ByteSpan(work, elems * type_bytes_)));
  const Status status = JsonToStored(work, elems, stored_type_.get(), type_bytes_, *references_, arena,
                                     needs_background_ ? &written_ : nullptr, background);
  ReclaimElements(converted.data(), elems, stored_type_.get());
  return status;
}

}  // namespace h5zarr::transfer
