// ReferenceIndex: a reference file (kerchunk's versions 0 and 1, LINDI's JSON) in memory: which
// bytes each key stands for.
//
// Within store/, but for LooksLikeReferences. Immutable once made: thread-safe. It keeps the file's text, and 40 bytes
// or so for each key; nothing is decoded before it is asked for.
#ifndef H5ZARR_STORE_REFERENCE_INDEX_H_
#define H5ZARR_STORE_REFERENCE_INDEX_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "store/reference_template.h"

namespace h5zarr {

// What a key stands for.
struct Reference {
  enum class Kind : uint8_t {
    kText,      // `text` is the JSON string (without quotes) of its bytes, or of "base64:" and their base64
    kDocument,  // `text` is JSON, and the bytes themselves
    kWhole,     // the whole object at `url`
    kSpan,      // `length` bytes of it from `offset`
  };
  Kind kind = Kind::kText;
  std::string_view text;
  std::string_view url;  // templates not replaced
  uint64_t offset = 0;
  uint64_t length = 0;
};

class ReferenceIndex {
 public:
  // How many bytes the parser may look at behind the text.
  static constexpr std::size_t kPaddingBytes = 64;

  // Takes apart the first `text_bytes` of `text`, which is larger by kPaddingBytes. kCorrupt, saying
  // where, for what is no reference file; kUnsupported for a later version, and generated references
  // that need more of Jinja than integers.
  static Result<std::unique_ptr<ReferenceIndex>> Parse(Buffer text, std::size_t text_bytes);

  // Nothing where the key is absent.
  const Reference* Find(std::string_view key, Reference* memory) const;
  // The metadata documents among the keys.
  const std::map<std::string, bool, std::less<>>& documents() const { return documents_; }
  // The URL that `url` of a reference means.
  Result<std::string> Resolve(std::string_view url) const { return Expand(url, templates_); }
  std::size_t size() const { return entries_.size(); }

  // The bytes of a reference that has them itself.
  static Result<Buffer> Decode(const Reference& reference);

 private:
  friend class ReferenceParser;
  // There may be millions.
  struct Entry {
    std::string_view key() const { return {key_begin, key_bytes}; }
    const char* key_begin = nullptr;
    uint64_t offset = 0;  // for inline ones: of the text
    uint64_t length = 0;
    uint32_t key_bytes = 0;
    uint32_t url = 0;  // an index of urls_, or one of the marks below
  };
  static constexpr uint32_t kTextMark = UINT32_MAX;
  static constexpr uint32_t kDocumentMark = UINT32_MAX - 1;
  static constexpr uint64_t kWholeLength = UINT64_MAX;

  Status Add(std::string_view key, Entry entry);
  void BuildSlots();
  std::size_t FirstSlot(std::string_view key) const;

  Buffer text_;
  std::deque<std::string> made_texts_;  // keys and URLs that are not in the text as they are
  std::vector<std::string_view> urls_;
  std::deque<Entry> entries_;    // grows without being copied
  std::vector<uint32_t> slots_;  // a hash table of entries: index + 1, 0 where empty; a power of two
  std::map<std::string, bool, std::less<>> documents_;
  TemplateValues templates_;
};

// `raw`, the inside of a JSON string, as UTF-8.
Result<std::string> UnescapeJson(std::string_view raw);

// `text` without the mark of UTF-8 that some editors begin files with.
std::string_view WithoutMark(std::string_view text);

// Whether a file that begins so is a reference file (and not any other JSON).
bool LooksLikeReferences(std::string_view beginning);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_REFERENCE_INDEX_H_
