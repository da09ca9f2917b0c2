// ReferenceIndex::Parse.
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "store/reference_index.h"

namespace h5zarr {

namespace json = simdjson::ondemand;

namespace {

constexpr uint64_t kMaxGenerated = 50'000'000;

// One dimension of generated references.
struct Dimension {
  std::string name;
  std::vector<int64_t> values;
};

Status ParseError(simdjson::error_code error, const std::string& what) {
  return CorruptError(what + ": " + simdjson::error_message(error));
}

#define H5ZARR_JSON(expression, target, what)                                         \
  if (const simdjson::error_code json_error = (expression).get(target); json_error) { \
    return ParseError(json_error, what);                                              \
  }

// The inside of a JSON string, as it stands in the text. (simdjson's own get_string copies it to memory that it
// keeps: as much again as all texts.)
std::string_view InsideOf(json::raw_json_string string) {
  const char* const begin = string.raw();
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<std::size_t>(end - begin)};
}

bool IsEscaped(std::string_view inside) { return inside.find('\\') != std::string_view::npos; }

}  // namespace

class ReferenceParser {
 public:
  ReferenceParser(ReferenceIndex* index, std::size_t text_bytes) : index_(*index), text_bytes_(text_bytes) {}

  Status Parse() {
    json::parser parser;
    json::document document;
    const std::string_view text = WithoutMark({reinterpret_cast<const char*>(index_.text_.data()), text_bytes_});
    H5ZARR_JSON(parser.iterate(simdjson::padded_string_view(text.data(), text.size(),
                                                            text.size() + ReferenceIndex::kPaddingBytes)),
                document, "reference file");
    json::object root;
    H5ZARR_JSON(document.get_object(), root, "reference file");
    // First what the references need: it may follow them.
    bool has_version = false, has_refs = false;
    for (auto field : root) {
      std::string_view name;
      json::value value;
      H5ZARR_JSON(KeyOf(field), name, "reference file");
      H5ZARR_JSON(field.value(), value, "reference file");
      if (name == "version") H5ZARR_RETURN_IF_ERROR(TakeVersion(value, &has_version));
      if (name == "templates") H5ZARR_RETURN_IF_ERROR(TakeTemplates(value));
      has_refs = has_refs || name == "refs";
    }
    if (has_version && !has_refs) return CorruptError("reference file: no member 'refs'");
    document.rewind();
    H5ZARR_JSON(document.get_object(), root, "reference file");
    if (!has_refs) return TakeReferences(root);
    for (auto field : root) {
      std::string_view name;
      json::value value;
      H5ZARR_JSON(KeyOf(field), name, "reference file");
      H5ZARR_JSON(field.value(), value, "reference file");
      if (name == "refs") {
        json::object references;
        H5ZARR_JSON(value.get_object(), references, "member 'refs'");
        H5ZARR_RETURN_IF_ERROR(TakeReferences(references));
      }
      if (name == "gen") H5ZARR_RETURN_IF_ERROR(TakeGenerators(value));
    }
    return OkStatus();
  }

 private:
  // The name of a member. Names without escapes are views of the text.
  simdjson::simdjson_result<std::string_view> KeyOf(simdjson::simdjson_result<json::field>& field) {
    json::raw_json_string raw;
    if (const auto error = field.key().get(raw); error) return error;
    std::string_view inside = InsideOf(raw);
    if (!IsEscaped(inside)) return inside;
    Result<std::string> name = UnescapeJson(inside);
    if (!name.ok()) return simdjson::STRING_ERROR;
    return std::string_view(index_.made_texts_.emplace_back(std::move(*name)));
  }

  Status TakeVersion(json::value& value, bool* has_version) {
    json::json_type type;
    H5ZARR_JSON(value.type(), type, "member 'version'");
    if (type != json::json_type::number) return OkStatus();  // version 0: a key like any other
    uint64_t version = 0;
    H5ZARR_JSON(value.get_uint64(), version, "member 'version'");
    if (version > 1) {
      return UnsupportedError("reference file of version " + std::to_string(version) + ": only 0 and 1 are known");
    }
    *has_version = true;
    return OkStatus();
  }

  Status TakeTemplates(json::value& value) {
    json::object templates;
    H5ZARR_JSON(value.get_object(), templates, "member 'templates'");
    for (auto field : templates) {
      std::string_view name, text;
      H5ZARR_JSON(KeyOf(field), name, "member 'templates'");
      H5ZARR_JSON(field.value().get_string(), text, "template '" + std::string(name) + "'");
      index_.templates_.texts[std::string(name)] = text;
    }
    return OkStatus();
  }

  Status TakeReferences(json::object& references) {
    for (auto field : references) {
      ReferenceIndex::Entry entry;
      std::string_view key;
      json::value value;
      H5ZARR_JSON(KeyOf(field), key, "references");
      H5ZARR_JSON(field.value(), value, Name(key));
      H5ZARR_RETURN_IF_ERROR(TakeReference(key, value, &entry));
      H5ZARR_RETURN_IF_ERROR(index_.Add(key, entry));
    }
    return OkStatus();
  }

  Status TakeReference(std::string_view key, json::value& value, ReferenceIndex::Entry* entry) {
    json::json_type type;
    H5ZARR_JSON(value.type(), type, Name(key));
    switch (type) {
      case json::json_type::string: {
        json::raw_json_string raw;
        H5ZARR_JSON(value.get_raw_json_string(), raw, Name(key));
        const std::string_view inside = InsideOf(raw);
        if (IsEscaped(inside)) {
          const Result<std::string> unescaped = UnescapeJson(inside);
          if (!unescaped.ok()) return CorruptError(Name(key) + ": " + unescaped.status().message());
        }
        SetText(inside, ReferenceIndex::kTextMark, entry);
        return OkStatus();
      }
      case json::json_type::object: {
        json::object object;
        std::string_view text;
        H5ZARR_JSON(value.get_object(), object, Name(key));
        H5ZARR_JSON(object.raw_json(), text, Name(key));
        SetText(text, ReferenceIndex::kDocumentMark, entry);
        return OkStatus();
      }
      case json::json_type::array: {
        json::array parts;
        H5ZARR_JSON(value.get_array(), parts, Name(key));
        return TakeTarget(key, parts, entry);
      }
      default: break;
    }
    return CorruptError(Name(key) + " is neither a text, an object nor a list");
  }

  // [url], [url, null, null] (kerchunk's other way to say "all of it") or [url, offset, length].
  Status TakeTarget(std::string_view key, json::array& parts, ReferenceIndex::Entry* entry) {
    std::size_t count = 0, nulls = 0;
    for (auto part : parts) {
      if (count == 0) {
        json::json_type type;
        H5ZARR_JSON(part.type(), type, Name(key));
        if (type == json::json_type::null) {
          return UnsupportedError(Name(key) + " has no URL: the file it means is not said");
        }
        json::raw_json_string raw;
        if (part.get_raw_json_string().get(raw)) return NoTarget(key);
        H5ZARR_ASSIGN_OR_RETURN(entry->url, UrlOf(key, InsideOf(raw)));
      } else if (count < 3) {
        json::json_type type;
        H5ZARR_JSON(part.type(), type, Name(key));
        nulls += type == json::json_type::null;
        uint64_t& number = count == 1 ? entry->offset : entry->length;
        if (type != json::json_type::null && part.get_uint64().get(number)) return NoTarget(key);
      }
      ++count;
    }
    if (count == 1 || (count == 3 && nulls == 2)) {
      entry->length = ReferenceIndex::kWholeLength;
      return OkStatus();
    }
    const std::optional<uint64_t> end = CheckedAdd(entry->offset, entry->length);
    return count == 3 && nulls == 0 && end && *end <= INT64_MAX ? OkStatus() : NoTarget(key);
  }

  Result<uint32_t> UrlOf(std::string_view key, std::string_view inside) {
    if (!IsEscaped(inside)) return UrlNumber(inside);
    const Result<std::string> url = UnescapeJson(inside);
    return url.ok() ? UrlNumber(*url) : NoTarget(key);
  }

  static Status NoTarget(std::string_view key) {
    return CorruptError(Name(key) + " is neither [url] nor [url, offset, length] with whole numbers from 0 on");
  }

  static std::string Name(std::string_view key) { return "reference '" + std::string(key.substr(0, 200)) + "'"; }

  void SetText(std::string_view text, uint32_t mark, ReferenceIndex::Entry* entry) {
    entry->url = mark;
    entry->offset = static_cast<uint64_t>(text.data() - AsText(index_.text_).data());
    entry->length = text.size();
  }

  // Mostly the one before; a few in all, or one for each reference.
  Result<uint32_t> UrlNumber(std::string_view url) {
    if (!index_.urls_.empty() && index_.urls_[last_url_] == url) return last_url_;
    const auto found = url_numbers_.find(url);
    if (found != url_numbers_.end()) return last_url_ = found->second;
    if (index_.urls_.size() >= ReferenceIndex::kDocumentMark) return OutOfRangeError("too many URLs");
    const std::string_view kept = index_.made_texts_.emplace_back(url);
    last_url_ = static_cast<uint32_t>(index_.urls_.size());
    index_.urls_.push_back(kept);
    url_numbers_.emplace(kept, last_url_);
    return last_url_;
  }

  // --- generated references ----------------------------------------------------------------------

  Status TakeGenerators(json::value& value) {
    json::array generators;
    H5ZARR_JSON(value.get_array(), generators, "member 'gen'");
    for (auto item : generators) {
      json::object generator;
      H5ZARR_JSON(item.get_object(), generator, "member 'gen'");
      std::map<std::string, std::string, std::less<>> texts;
      std::vector<Dimension> dimensions;
      for (auto field : generator) {
        std::string_view name;
        json::value member;
        H5ZARR_JSON(KeyOf(field), name, "member 'gen'");
        H5ZARR_JSON(field.value(), member, "member 'gen'");
        if (name == "dimensions") {
          H5ZARR_RETURN_IF_ERROR(TakeDimensions(member, &dimensions));
          continue;
        }
        H5ZARR_ASSIGN_OR_RETURN(texts[std::string(name)], TextOrNumber(member));
      }
      H5ZARR_RETURN_IF_ERROR(Generate(texts, dimensions));
    }
    return OkStatus();
  }

  static Result<std::string> TextOrNumber(json::value& value) {
    json::json_type type;
    H5ZARR_JSON(value.type(), type, "member 'gen'");
    if (type == json::json_type::number) {
      int64_t number = 0;
      H5ZARR_JSON(value.get_int64(), number, "member 'gen'");
      return std::to_string(number);
    }
    std::string_view text;
    H5ZARR_JSON(value.get_string(), text, "member 'gen'");
    return std::string(text);
  }

  Status TakeDimensions(json::value& value, std::vector<Dimension>* dimensions) {
    json::object object;
    H5ZARR_JSON(value.get_object(), object, "dimensions of 'gen'");
    for (auto field : object) {
      std::string_view name;
      json::value range;
      H5ZARR_JSON(KeyOf(field), name, "dimensions of 'gen'");
      H5ZARR_JSON(field.value(), range, "dimensions of 'gen'");
      Dimension dimension{std::string(name), {}};
      json::json_type type;
      H5ZARR_JSON(range.type(), type, "dimensions of 'gen'");
      if (type == json::json_type::array) {
        for (auto item : range.get_array()) {
          H5ZARR_JSON(item.get_int64(), dimension.values.emplace_back(), "dimensions of 'gen'");
        }
      } else {
        H5ZARR_RETURN_IF_ERROR(TakeRange(range, &dimension));
      }
      dimensions->push_back(std::move(dimension));
    }
    return OkStatus();
  }

  static Status TakeRange(json::value& value, Dimension* dimension) {
    json::object range;
    H5ZARR_JSON(value.get_object(), range, "dimensions of 'gen'");
    int64_t start = 0, step = 1;
    std::optional<int64_t> stop;
    for (auto field : range) {
      std::string_view name;
      int64_t number = 0;
      H5ZARR_JSON(field.unescaped_key(), name, "dimensions of 'gen'");
      H5ZARR_JSON(field.value().get_int64(), number, "dimensions of 'gen'");
      if (name == "start") start = number;
      if (name == "stop") stop = number;
      if (name == "step") step = number;
    }
    constexpr int64_t kLimit = int64_t{1} << 60;
    const bool sane = stop && step > 0 && std::max(std::abs(start), std::abs(*stop)) < kLimit && step < kLimit;
    if (!sane) return CorruptError("dimensions of 'gen': expected start, stop and a positive step");
    if (*stop > start && static_cast<uint64_t>((*stop - start) / step) > kMaxGenerated) {
      return UnsupportedError("dimensions of 'gen': too many references");
    }
    for (int64_t i = start; i < *stop; i += step) dimension->values.push_back(i);
    return OkStatus();
  }

  Status Generate(const std::map<std::string, std::string, std::less<>>& texts,
                  const std::vector<Dimension>& dimensions) {
    const auto member = [&](std::string_view name) -> std::string_view {
      const auto found = texts.find(name);
      return found == texts.end() ? std::string_view() : found->second;
    };
    uint64_t total = 1;
    for (const Dimension& dimension : dimensions) {
      const std::optional<uint64_t> more = CheckedMul(total, dimension.values.size());
      if (!more || *more > kMaxGenerated) return UnsupportedError("member 'gen': too many references");
      total = *more;
    }
    TemplateValues values = index_.templates_;
    for (uint64_t i = 0; i < total; ++i) {
      uint64_t rest = i;
      for (std::size_t d = dimensions.size(); d-- > 0;) {
        const std::vector<int64_t>& of = dimensions[d].values;
        values.numbers[dimensions[d].name] = of[rest % of.size()];
        rest /= of.size();
      }
      H5ZARR_RETURN_IF_ERROR(GenerateOne(member("key"), member("url"), member("offset"), member("length"), values));
    }
    return OkStatus();
  }

  Status GenerateOne(std::string_view key, std::string_view url, std::string_view offset, std::string_view length,
                     const TemplateValues& values) {
    ReferenceIndex::Entry entry;
    H5ZARR_ASSIGN_OR_RETURN(std::string made_key, Expand(key, values));
    const std::string_view kept_key = index_.made_texts_.emplace_back(std::move(made_key));
    H5ZARR_ASSIGN_OR_RETURN(const std::string made_url, Expand(url, values));
    H5ZARR_ASSIGN_OR_RETURN(entry.url, UrlNumber(made_url));
    entry.length = ReferenceIndex::kWholeLength;
    if (!offset.empty() || !length.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(entry.offset, Number(offset, values));
      H5ZARR_ASSIGN_OR_RETURN(entry.length, Number(length, values));
    }
    return index_.Add(kept_key, entry);
  }

  static Result<uint64_t> Number(std::string_view text, const TemplateValues& values) {
    H5ZARR_ASSIGN_OR_RETURN(const std::string digits, Expand(text, values));
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) {
      return CorruptError("member 'gen': '" + digits.substr(0, 40) + "' is no offset or length");
    }
    return uint64_t{std::stoull(digits)};
  }

  ReferenceIndex& index_;
  const std::size_t text_bytes_;
  std::unordered_map<std::string_view, uint32_t> url_numbers_;
  uint32_t last_url_ = 0;
};

Result<std::unique_ptr<ReferenceIndex>> ReferenceIndex::Parse(Buffer text, std::size_t text_bytes) {
  if (text.size_bytes() < text_bytes + kPaddingBytes) return InternalError("a text without padding");
  if (text_bytes >= UINT32_MAX - kPaddingBytes) {
    return UnsupportedError("a reference file of 4 GiB or more");
  }
  std::unique_ptr<ReferenceIndex> index(new ReferenceIndex());
  index->text_ = std::move(text);
  H5ZARR_RETURN_IF_ERROR(ReferenceParser(index.get(), text_bytes).Parse());
  index->BuildSlots();
  return index;
}

#undef H5ZARR_JSON

}  // namespace h5zarr
