// hdf5_attribute: the attribute `_hdf5` that carries what Zarr cannot say, and attributes between JSON
// and the shadow.
#ifndef H5ZARR_SHADOW_HDF5_ATTRIBUTE_H_
#define H5ZARR_SHADOW_HDF5_ATTRIBUTE_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "host/native.h"
#include "shadow/attribute_map.h"
#include "shadow/hdf5_member.h"
#include "zarr/hierarchy.h"

namespace h5zarr::shadow {

// Whether an array was written although it has no chunk: they were all fill (`_hdf5.written`). HDF5 has
// storage for such a dataset, and its tools tell it from one that was never written.
bool WrittenAsFill(const Json& attributes);

// A node's attributes as an HDF5 program sees them, in the order of creation where `_hdf5.attr_order` lists it: no
// hidden ones, nor names that HDF5 cannot have; its own of a hidden name or one that is no UTF-8 (kept in
// `_hdf5.escaped`); with units of datetimes.
Json AttributesForProgram(const zarr::Node& node);

// What `_hdf5.attrs` says of the attribute `name`, or null.
Json AttributeDescription(const Json& attributes, const std::string& name);

// Stores one attribute of the program in the node's attributes; removes it when `value` is null.
void SetAttribute(Json* attributes, const std::string& name, const AttributeJson* value);

// Gives a stored attribute another name, and its place among the others. Its value is to be stored anew.
void RenameAttribute(Json* attributes, const std::string& from, const std::string& to);

// xarray's `_FillValue`, between the form it has in v3 documents (base64 for floats) and a number of the
// array's type.
void ReadFillValueAttribute(const zarr::ArrayMetadata& metadata, AttributeJson* attribute);
void WriteFillValueAttribute(const zarr::ArrayMetadata& metadata, AttributeJson* attribute);

// The creation orders an object tracks: `_hdf5.order` lists a group's links, `_hdf5.attr_order` lists attributes, or
// says `true` where they are in order. Note… looks at the property list an object is created with, Restore…
// sets up one for an object that is loaded.
void NoteAttributeOrder(hid_t creation_list, Json* attributes);
Status RestoreAttributeOrder(const Json& attributes, hid_t creation_list);
Status RestoreCreationOrder(const Json& attributes, hid_t group_creation_list);
bool HasCreationOrder(const Json& attributes);  // whether RestoreCreationOrder does anything
bool TracksAttributeOrder(const Json& attributes);
// Whether some attributes were made after REFERENCE_LIST, which is in the shadow only when it is asked for.
bool HasAttributesAfterReferences(const Json& attributes);
bool TracksLinkOrder(hid_t group_creation_list);

// Creates (an attribute of that name must not exist) and reads an attribute of a native object.
// `file_type`: what it is made with, a committed datatype or the type of `value`.
Status WriteNativeAttribute(host::NativeObject object, const std::string& name, const AttributeValue& value,
                            hid_t file_type, H5T_cset_t name_cset);
// The character set of an attribute's name: that of its letters, unless the description ("cset") says
// otherwise. DescribeNameCset makes it do so where need be.
H5T_cset_t NameCset(const std::string& name, const Json& description);
void DescribeNameCset(const std::string& name, H5T_cset_t cset, Json* description);
// The same of a link of a group (`_hdf5.link_csets`).
H5T_cset_t LinkCset(const Json& group_attributes, const std::string& name);
struct NativeAttribute {
  AttributeValue value;
  Handle file_type;  // perhaps a committed datatype
  H5T_cset_t name_cset = H5T_CSET_ASCII;
};
Result<NativeAttribute> ReadNativeAttribute(host::NativeObject object, const std::string& name);
// The comment of a native object, "" where it has none.
Result<std::string> ReadNativeComment(host::NativeObject object);
Status WriteNativeComment(host::NativeObject object, const std::string& comment);
Status DeleteNativeAttribute(host::NativeObject object, const std::string& name);  // if it is there
Result<bool> NativeAttributeExists(host::NativeObject object, const std::string& name);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_HDF5_ATTRIBUTE_H_
