#include "codec/numpy_dtype.h"

#include <charconv>

namespace h5zarr::codec {
namespace {

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<DType> MakeNumeric(char kind, uint64_t item_bytes, Endian endian) {
  const bool is_int_size = item_bytes == 1 || item_bytes == 2 || item_bytes == 4 || item_bytes == 8;
  if (kind == 'b' && item_bytes == 1) return DType::Bool();
  if (kind == 'i' && is_int_size) return DType::Int(item_bytes, endian);
  if (kind == 'u' && is_int_size) return DType::Uint(item_bytes, endian);
  if (kind == 'f' && is_int_size && item_bytes > 1) return DType::Float(item_bytes, endian);
  return std::nullopt;
}

// "int32": the kind's name and the size in bits.
std::optional<DType> ParseLong(std::string_view text, Endian endian) {
  struct Name {
    std::string_view word;
    char kind;
  };
  constexpr Name kNames[] = {{"uint", 'u'}, {"int", 'i'}, {"float", 'f'}};
  for (const Name& name : kNames) {
    if (!text.starts_with(name.word)) continue;
    const std::optional<uint64_t> bits = ParseNumber(text.substr(name.word.size()));
    if (!bits || *bits % 8 != 0) return std::nullopt;
    return MakeNumeric(name.kind, *bits / 8, endian);
  }
  return std::nullopt;
}

}  // namespace

std::optional<DType> ParseNumpyDType(std::string_view text, Endian native) {
  Endian endian = native;
  if (!text.empty() && (text[0] == '<' || text[0] == '>' || text[0] == '=' || text[0] == '|')) {
    if (text[0] == '<') endian = Endian::kLittle;
    if (text[0] == '>') endian = Endian::kBig;
    text.remove_prefix(1);
  }
  if (text == "?" || text == "bool") return DType::Bool();
  if (text.size() >= 2 && text[1] >= '0' && text[1] <= '9') {
    const std::optional<uint64_t> item_bytes = ParseNumber(text.substr(1));
    return item_bytes ? MakeNumeric(text[0], *item_bytes, endian) : std::nullopt;
  }
  return ParseLong(text, endian);
}

}  // namespace h5zarr::codec
