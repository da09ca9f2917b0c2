// json2 (numcodecs JSON): a JSON array of the elements (nested where the chunk has more than one
// dimension), then the NumPy type, then the shape.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "base/checked.h"
#include "codec/factories.h"

namespace h5zarr::codec {
namespace {

constexpr int kMaxDepth = 200;

Status Corrupt(const std::string& what) { return CorruptError("json2: " + what); }

// Python writes NaN, Infinity and -Infinity as bare words, which are no JSON: as strings they are.
std::string QuoteBareWords(std::string_view text) {
  std::string quoted;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    if (in_string) {
      const std::size_t step = text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
      if (text[i] == '"') in_string = false;
      quoted.append(text.substr(i, step));
      i += step;
      continue;
    }
    std::string_view word;
    for (const std::string_view candidate : {"NaN", "Infinity", "-Infinity"}) {
      if (text.substr(i).starts_with(candidate)) word = candidate;
    }
    if (word.empty()) {
      in_string = text[i] == '"';
      quoted.push_back(text[i++]);
    } else {
      quoted.append("\"").append(word).append("\"");
      i += word.size();
    }
  }
  return quoted;
}

Json Parse(std::string_view text, bool* is_too_deep) {
  *is_too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) *is_too_deep = true;
    return !*is_too_deep;
  };
  return Json::parse(text, watch, /*allow_exceptions=*/false);
}

// Appends what stands `levels` arrays deep in `items` to `flat`.
Status Flatten(const Json& items, std::span<const uint64_t> shape, std::vector<const Json*>* flat) {
  for (const Json& item : items) {
    if (shape.size() <= 1) {
      flat->push_back(&item);
    } else if (!item.is_array() || item.size() != shape[1]) {
      return Corrupt("the nesting of its elements contradicts the shape that follows them");
    } else {
      H5ZARR_RETURN_IF_ERROR(Flatten(item, shape.subspan(1), flat));
    }
  }
  return OkStatus();
}

Result<std::vector<uint64_t>> ReadShape(const Json& value) {
  if (!value.is_array() || value.size() > 64) return Corrupt("its last member is no shape");
  std::vector<uint64_t> shape;
  for (const Json& extent : value) {
    if (!extent.is_number_unsigned()) return Corrupt("its last member is no shape");
    shape.push_back(extent.get<uint64_t>());
  }
  return shape;
}

std::string ElementText(const Json& element) {
  if (element.is_null()) return std::string();
  if (element.is_string()) return element.get<std::string>();
  return element.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Json2 final : public VlenCodec {
 public:
  std::string_view name() const override { return "json2"; }
  Status Decode(ByteSpan encoded, std::span<VlenRef> elems, Buffer* heap) const override {
    try {
      return DecodeOrThrow(encoded, elems, heap);
    } catch (const std::exception& error) {
      return Corrupt(error.what());
    }
  }
  // Every element becomes a JSON string: what a text meant before it was one is not known here.
  Result<Buffer> Encode(std::span<const VlenRef> elems) const override {
    try {
      Json items = Json::array();
      for (const VlenRef& elem : elems) {
        items.push_back(std::string(AsText(ByteSpan(elem.data, elem.size_bytes))));
      }
      items.push_back("|O");
      items.push_back(Json::array({static_cast<uint64_t>(elems.size())}));
      const std::string text = items.dump(-1, ' ', /*ensure_ascii=*/true);
      return Buffer::CopyOf(AsBytes(text));
    } catch (const std::exception& error) {
      return InvalidArgumentError(std::string("json2: an element is no UTF-8 text: ") + error.what());
    }
  }
  CodecCost cost() const override { return {20.0, 15.0}; }

 private:
  static Status DecodeOrThrow(ByteSpan encoded, std::span<VlenRef> elems, Buffer* heap);
};

Status Json2::DecodeOrThrow(ByteSpan encoded, std::span<VlenRef> elems, Buffer* heap) {
  bool is_too_deep = false;
  Json items = Parse(AsText(encoded), &is_too_deep);
  if (items.is_discarded() && !is_too_deep) {
    items = Parse(QuoteBareWords(AsText(encoded)), &is_too_deep);
  }
  if (is_too_deep) return Corrupt("nested deeper than 200 levels");
  if (!items.is_array() || items.size() < 2) {
    return Corrupt(std::to_string(encoded.size()) + " bytes are no JSON array with type and shape");
  }
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> shape, ReadShape(items.back()));
  items.erase(items.end() - 2, items.end());
  const std::optional<uint64_t> count = CheckedProduct(shape);
  if (count != elems.size()) {
    return Corrupt("a shape of " + std::to_string(count.value_or(UINT64_MAX)) + " elements, expected " +
                   std::to_string(elems.size()));
  }
  std::vector<const Json*> flat;
  H5ZARR_RETURN_IF_ERROR(Flatten(items, shape, &flat));
  if (flat.size() != elems.size()) {
    return Corrupt(std::to_string(flat.size()) + " elements, expected " + std::to_string(elems.size()));
  }
  std::string texts;
  for (std::size_t i = 0; i < elems.size(); ++i) {
    const std::string text = ElementText(*flat[i]);
    elems[i].size_bytes = text.size();
    texts += text;
  }
  H5ZARR_ASSIGN_OR_RETURN(*heap, Buffer::CopyOf(AsBytes(texts)));
  const std::byte* data = heap->data();
  for (VlenRef& elem : elems) {
    elem.data = data;
    data += elem.size_bytes;
  }
  return OkStatus();
}

}  // namespace

Result<AnyCodec> MakeJson2(const CodecRequest& request, ConfigReader& config) {
  // Parameters of Python's encoder: any spelling of JSON is read.
  for (const char* member :
       {"skipkeys", "ensure_ascii", "check_circular", "allow_nan", "sort_keys", "indent", "separators", "strict"}) {
    config.Ignore(member);
  }
  std::string encoding = config.String("encoding", "utf-8");
  std::transform(encoding.begin(), encoding.end(), encoding.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter; });
  H5ZARR_RETURN_IF_ERROR(config.Finish());
  if (encoding != "utf-8" && encoding != "utf8" && encoding != "ascii") {
    return UnsupportedError("codec json2: \"encoding\" is \"" + encoding + "\", expected utf-8");
  }
  if (!request.input.dtype.is_vlen()) {
    return InvalidArgumentError("codec json2: the array's elements are not of variable length");
  }
  return MakeAs<VlenCodec, Json2>();
}

}  // namespace h5zarr::codec
