#include "zarr/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

namespace h5zarr::zarr {
namespace {

constexpr int kMaxDepth = 200;
// Objects with more members look their names up in a hash table instead of one by one.
constexpr std::size_t kLinearMembers = 24;

using Members = std::vector<Json::object_t::value_type>;

// The members as the vector that they are, whose operations do not search.
Members& MembersOf(Json& object) { return static_cast<Members&>(object.get_ref<Json::object_t&>()); }

void AppendUtf8(uint32_t code_point, std::string* out) {
  if (code_point < 0x80) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  } else if (code_point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
  }
}

// How many bytes the UTF-8 sequence at the start of `text` has; 0 where it is none (overlong forms,
// surrogates and code points above U+10FFFF included).
std::size_t Utf8SequenceBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Result<Json> Parse() {
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // a byte order mark of some editor
    Json value;
    H5ZARR_RETURN_IF_ERROR(ParseValue(&value, 0));
    SkipSpace();
    if (position_ != text_.size()) return Error("text behind the end of the document");
    return value;
  }

  // The nearest plain value to a literal that Parse keeps verbatim.
  Json ParsePlain() {
    if (Peek() == '"') {
      std::string value;
      (void)ParseString(&value).ok();
      return value;
    }
    // Beyond a double's range: infinite, or next to nothing, as in Python.
    return std::strtod(std::string(text_).c_str(), nullptr);
  }

 private:
  static Json Verbatim(std::string_view literal) { return Json::binary({literal.begin(), literal.end()}); }

  Status Error(std::string_view problem) const {
    return CorruptError(std::string(what_) + ": not JSON: " + std::string(problem) + " at byte " +
                        std::to_string(position_) + " of " + std::to_string(text_.size()));
  }

  void SkipSpace() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
      ++position_;
    }
  }

  char Peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  bool Take(std::string_view token) {
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  Status ParseValue(Json* out, int depth) {
    SkipSpace();
    switch (Peek()) {
      case '{': return ParseObject(out, depth + 1);
      case '[': return ParseArray(out, depth + 1);
      case '"': {
        const std::size_t start = position_;
        std::string value;
        replaced_ = false;
        H5ZARR_RETURN_IF_ERROR(ParseString(&value));
        *out = replaced_ ? Verbatim(text_.substr(start, position_ - start)) : Json(std::move(value));
        return OkStatus();
      }
      case 't': return ParseWord("true", true, out);
      case 'f': return ParseWord("false", false, out);
      case 'n': return ParseWord("null", nullptr, out);
      case 'N': return ParseWord("NaN", std::nan(""), out);
      case 'I': return ParseWord("Infinity", HUGE_VAL, out);
      default: return ParseNumber(out);
    }
  }

  Status ParseWord(std::string_view word, Json value, Json* out) {
    if (!Take(word)) return Error("unknown word");
    *out = std::move(value);
    return OkStatus();
  }

  Status ParseArray(Json* out, int depth) {
    if (depth > kMaxDepth) return Error("nesting deeper than 200 levels");
    ++position_;
    *out = Json::array();
    auto& items = out->get_ref<Json::array_t&>();
    SkipSpace();
    if (Take("]")) return OkStatus();
    while (true) {
      H5ZARR_RETURN_IF_ERROR(ParseValue(&items.emplace_back(), depth));
      SkipSpace();
      if (Take("]")) return OkStatus();
      if (!Take(",")) return Error("expected ',' or ']'");
    }
  }

  Status ParseObject(Json* out, int depth) {
    if (depth > kMaxDepth) return Error("nesting deeper than 200 levels");
    ++position_;
    *out = Json::object();
    Members& members = MembersOf(*out);
    std::unordered_map<std::string, std::size_t> index;  // filled for large objects only
    SkipSpace();
    if (Take("}")) return OkStatus();
    while (true) {
      SkipSpace();
      if (Peek() != '"') return Error("expected a member name");
      std::string name;
      H5ZARR_RETURN_IF_ERROR(ParseString(&name));
      SkipSpace();
      if (!Take(":")) return Error("expected ':'");
      Json value;
      H5ZARR_RETURN_IF_ERROR(ParseValue(&value, depth));
      StoreMember(std::move(name), std::move(value), &members, &index);
      SkipSpace();
      if (Take("}")) return OkStatus();
      if (!Take(",")) return Error("expected ',' or '}'");
    }
  }

  static void StoreMember(std::string name, Json value, Members* members,
                          std::unordered_map<std::string, std::size_t>* index) {
    if (members->size() < kLinearMembers) {
      for (auto& member : *members) {
        if (member.first == name) {
          member.second = std::move(value);
          return;
        }
      }
    } else {
      if (index->empty()) {
        for (std::size_t i = 0; i < members->size(); ++i) index->emplace((*members)[i].first, i);
      }
      const auto [place, is_new] = index->emplace(name, members->size());
      if (!is_new) {
        (*members)[place->second].second = std::move(value);
        return;
      }
    }
    members->emplace_back(std::move(name), std::move(value));
  }

  Status ParseString(std::string* out) {
    ++position_;
    while (true) {
      const std::size_t start = position_;
      while (position_ < text_.size()) {
        const auto c = static_cast<unsigned char>(text_[position_]);
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) break;
        ++position_;
      }
      out->append(text_, start, position_ - start);
      if (position_ == text_.size()) return Error("unfinished string");
      const auto c = static_cast<unsigned char>(text_[position_]);
      if (c == '"') {
        ++position_;
        return OkStatus();
      }
      if (c < 0x20) return Error("control character in a string");
      if (c == '\\') {
        H5ZARR_RETURN_IF_ERROR(ParseEscape(out));
        continue;
      }
      const std::size_t sequence_bytes = Utf8SequenceBytes(text_.substr(position_));
      if (sequence_bytes == 0) return Error("invalid UTF-8");
      out->append(text_, position_, sequence_bytes);
      position_ += sequence_bytes;
    }
  }

  std::optional<uint32_t> TakeHex4() {
    if (text_.size() - position_ < 4) return std::nullopt;
    const char* first = text_.data() + position_;
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(first, first + 4, value, 16);
    if (error != std::errc() || end != first + 4) return std::nullopt;
    position_ += 4;
    return value;
  }

  Status ParseEscape(std::string* out) {
    ++position_;
    const char c = Peek();
    if (position_ < text_.size()) ++position_;
    switch (c) {
      case '"':
      case '\\':
      case '/': out->push_back(c); return OkStatus();
      case 'b': out->push_back('\b'); return OkStatus();
      case 'f': out->push_back('\f'); return OkStatus();
      case 'n': out->push_back('\n'); return OkStatus();
      case 'r': out->push_back('\r'); return OkStatus();
      case 't': out->push_back('\t'); return OkStatus();
      case 'u': break;
      default: return Error("unknown escape");
    }
    std::optional<uint32_t> unit = TakeHex4();
    if (!unit) return Error("expected four hexadecimal digits");
    uint32_t code_point = *unit;
    if (code_point >= 0xD800 && code_point <= 0xDFFF) {
      const std::size_t behind = position_;
      std::optional<uint32_t> low;
      if (code_point <= 0xDBFF && Take("\\u")) low = TakeHex4();
      if (low && *low >= 0xDC00 && *low <= 0xDFFF) {
        code_point = 0x10000 + ((code_point - 0xD800) << 10) + (*low - 0xDC00);
      } else {
        position_ = behind;
        code_point = 0xFFFD;
        replaced_ = true;
      }
    }
    AppendUtf8(code_point, out);
    return OkStatus();
  }

  std::size_t SkipDigits() {
    const std::size_t start = position_;
    while (Peek() >= '0' && Peek() <= '9') ++position_;
    return position_ - start;
  }

  Status ParseNumber(Json* out) {
    const std::size_t start = position_;
    const bool negative = Take("-");
    if (negative && Take("Infinity")) {
      *out = -HUGE_VAL;
      return OkStatus();
    }
    const bool leading_zero = Peek() == '0';
    const std::size_t digits = SkipDigits();
    if (digits == 0) {
      return Error(position_ == text_.size() ? "unexpected end" : "expected a value");
    }
    if (leading_zero && digits > 1) return Error("number with a leading zero");
    bool integral = true;
    if (Take(".")) {
      integral = false;
      if (SkipDigits() == 0) return Error("expected digits");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      integral = false;
      ++position_;
      if (Peek() == '+' || Peek() == '-') ++position_;
      if (SkipDigits() == 0) return Error("expected digits");
    }
    return ConvertNumber(text_.substr(start, position_ - start), integral, negative, out);
  }

  Status ConvertNumber(std::string_view token, bool integral, bool negative, Json* out) {
    const char* first = token.data();
    const char* last = first + token.size();
    if (integral && negative) {
      int64_t value = 0;
      if (std::from_chars(first, last, value).ec == std::errc()) {
        *out = value;
        return OkStatus();
      }
    } else if (integral) {
      uint64_t value = 0;
      if (std::from_chars(first, last, value).ec == std::errc()) {
        *out = value;
        return OkStatus();
      }
    }
    double value = 0;
    if (integral || std::from_chars(first, last, value).ec != std::errc()) {
      *out = Verbatim(token);
    } else {
      *out = value;
    }
    return OkStatus();
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t position_ = 0;
  bool replaced_ = false;  // the last string had something that UTF-8 has not
};

// Whether the serialiser of Json itself would write something else than the document had.
bool NeedsOwnDump(const Json& json) {
  if (json.is_number_float()) return !std::isfinite(json.get<double>());
  if (!json.is_structured()) return json.is_binary();
  for (const auto& item : json) {
    if (NeedsOwnDump(item)) return true;
  }
  return false;
}

std::string DumpScalar(const Json& json) {
  if (json.is_binary()) {
    const Json::binary_t& text = json.get_binary();
    return std::string(text.begin(), text.end());
  }
  if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    const double value = json.get<double>();
    return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What Json::dump writes, but for the scalars above.
void AppendDump(const Json& json, int indent, int depth, std::string* out) {
  if (!json.is_structured() || json.empty()) {
    *out += DumpScalar(json);
    return;
  }
  const auto new_line = [&](int levels) {
    if (indent >= 0) *out += '\n' + std::string(static_cast<std::size_t>(indent * levels), ' ');
  };
  const bool is_object = json.is_object();
  *out += is_object ? '{' : '[';
  bool first = true;
  for (const auto& [name, value] : json.items()) {
    if (!first) *out += ',';
    first = false;
    new_line(depth + 1);
    if (is_object) *out += DumpScalar(name) + (indent >= 0 ? ": " : ":");
    AppendDump(value, indent, depth + 1, out);
  }
  new_line(depth);
  *out += is_object ? '}' : ']';
}

// The end of the string whose opening quote is at `position`: behind its closing quote, or npos.
std::size_t SkipStringText(std::string_view text, std::size_t position) {
  const std::size_t first = position + 1;
  std::size_t quote = first;
  while (true) {
    quote = text.find('"', quote);
    if (quote == std::string_view::npos) return quote;
    std::size_t backslashes = 0;
    while (quote - backslashes > first && text[quote - backslashes - 1] == '\\') ++backslashes;
    ++quote;
    if (backslashes % 2 == 0) return quote;
  }
}

// The end of the value that begins at `position`, or npos.
std::size_t SkipValueText(std::string_view text, std::size_t position) {
  std::size_t depth = 0;
  while (position < text.size()) {
    switch (text[position]) {
      case '"':
        position = SkipStringText(text, position);
        if (position == std::string_view::npos || depth == 0) return position;
        continue;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (depth == 0) return position;  // behind a number or word
        if (--depth == 0) return position + 1;
        break;
      case ',':
        if (depth == 0) return position;
        break;
      default: break;
    }
    ++position;
  }
  return std::string_view::npos;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what) {
  try {
    return Parser(text, what).Parse();
  } catch (const std::bad_alloc&) {
    return NoSpaceError(std::string(what) + ": no memory for the document");
  }
}

std::string DumpJson(const Json& json, int indent) {
  if (!NeedsOwnDump(json)) return json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string text;
  AppendDump(json, indent, 0, &text);
  return text;
}

Json PlainJson(Json json) {
  if (json.is_binary()) {
    const std::string literal = DumpScalar(json);
    return Parser(literal, "value").ParsePlain();
  }
  if (json.is_structured()) {
    for (auto& item : json) {
      if (item.is_structured() || item.is_binary()) item = PlainJson(std::move(item));
    }
  }
  return json;
}

std::string BriefJson(const Json& json, std::size_t max_bytes) {
  std::string text = DumpJson(json, -1);
  if (text.size() > max_bytes) {
    text.resize(max_bytes);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.pop_back();
    }
    if (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
    text += "...";
  }
  return text;
}

const Json* FindMember(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  for (const auto& member : object.get_ref<const Json::object_t&>()) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::optional<uint64_t> AsUnsigned(const Json& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer() && json.get<int64_t>() >= 0) return json.get<uint64_t>();
  return std::nullopt;
}

std::optional<uint64_t> UnsignedMember(const Json& object, std::string_view name) {
  const Json* member = FindMember(object, name);
  return member == nullptr ? std::nullopt : AsUnsigned(*member);
}

std::optional<std::string> StringMember(const Json& object, std::string_view name) {
  const Json* member = FindMember(object, name);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return member->get<std::string>();
}

bool ForEachMemberText(std::string_view text,
                       const std::function<void(std::string_view name, std::string_view value)>& visit) {
  constexpr std::string_view kSpace = " \n\r\t";
  std::size_t position = text.find('{');
  if (position == std::string_view::npos) return false;
  ++position;
  while (true) {
    position = text.find_first_not_of(" \n\r\t,", position);
    if (position == std::string_view::npos || text[position] != '"') {
      return position != std::string_view::npos && text[position] == '}';
    }
    const std::size_t name_end = SkipStringText(text, position);
    if (name_end == std::string_view::npos) return false;
    const std::string_view member = text.substr(position + 1, name_end - position - 2);
    position = text.find_first_not_of(kSpace, name_end);
    if (position == std::string_view::npos || text[position] != ':') return false;
    const std::size_t begin = text.find_first_not_of(kSpace, position + 1);
    if (begin == std::string_view::npos) return false;
    const std::size_t end = SkipValueText(text, begin);
    if (end == std::string_view::npos) return false;
    visit(member, text.substr(begin, end - begin));
    position = end;
  }
}

std::optional<std::string_view> FindMemberText(std::string_view text, std::string_view name) {
  std::optional<std::string_view> found;
  ForEachMemberText(text, [&](std::string_view member, std::string_view value) {
    if (member == name) found = value;
  });
  return found;
}

}  // namespace h5zarr::zarr
