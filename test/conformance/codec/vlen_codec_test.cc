// What every codec of variable-length elements promises (codec.h).
#include "catch.h"
#include "conformance/codec/codec_subjects.h"
#include "conformance/codec/guarded_buffer.h"

namespace h5zarr::codec {
namespace {

struct VlenSubject {
  const char* name;
  const char* configuration;
};

constexpr VlenSubject kSubjects[] = {
    {"vlen-utf8", "{}"},
    {"numcodecs.vlen-bytes", "null"},
    {"vlen-array", R"({"dtype": "<i4"})"},
    {"json2", R"({"encoding": "utf-8", "separators": [",", ":"]})"},
};

// Sizes are multiples of 4 and the content is text, so that every subject takes them.
const std::vector<std::string> kTexts = {"", "abcd", "", "\"q\\\n{}[]", "Gr\xc3\xbc\xc3\x9f..", std::string(4000, 'x')};

std::vector<VlenRef> Refs(const std::vector<std::string>& texts) {
  std::vector<VlenRef> refs;
  for (const std::string& text : texts) {
    refs.push_back({text.size(), reinterpret_cast<const std::byte*>(text.data())});
  }
  return refs;
}

template <typename Function>
void ForEachSubject(std::size_t elems, Function&& function) {
  for (const VlenSubject& subject : kSubjects) {
    INFO(subject.name);
    const ChunkSpec spec{DType::String(), {elems}};
    function(*MakeSubject<VlenCodec>(subject.name, subject.configuration, spec));
  }
}

TEST_CASE("every vlen codec gives back what it encoded") {
  GuardedBuffer in(1 << 16);
  for (std::size_t elems = 0; elems <= kTexts.size(); ++elems) {
    const std::vector<std::string> texts(kTexts.begin(), kTexts.begin() + static_cast<std::ptrdiff_t>(elems));
    ForEachSubject(elems, [&](const VlenCodec& codec) {
      Result<Buffer> encoded = codec.Encode(Refs(texts));
      INFO(encoded.status().message());
      REQUIRE(encoded.ok());
      std::vector<VlenRef> decoded(elems);
      Buffer heap;
      const Status status = codec.Decode(in.Put(*encoded), decoded, &heap);
      INFO(status.message());
      REQUIRE(status.ok());
      for (std::size_t i = 0; i < elems; ++i) {
        CHECK(AsText(ByteSpan(decoded[i].data, decoded[i].size_bytes)) == texts[i]);
      }
    });
  }
}

TEST_CASE("another count of elements than expected is corrupt") {
  ForEachSubject(kTexts.size(), [&](const VlenCodec& codec) {
    const Buffer encoded = codec.Encode(Refs(kTexts)).value();
    for (const std::size_t elems : {std::size_t{0}, kTexts.size() - 1, kTexts.size() + 1}) {
      std::vector<VlenRef> decoded(elems);
      Buffer heap;
      CHECK(codec.Decode(encoded, decoded, &heap).code() == StatusCode::kCorrupt);
    }
  });
}

TEST_CASE("truncated vlen data are corrupt at every length") {
  GuardedBuffer in(1 << 16);
  ForEachSubject(kTexts.size(), [&](const VlenCodec& codec) {
    const Buffer encoded = codec.Encode(Refs(kTexts)).value();
    for (std::size_t bytes = 0; bytes < encoded.size_bytes(); bytes += bytes < 200 ? 1 : 97) {
      std::vector<VlenRef> decoded(kTexts.size());
      Buffer heap;
      const ByteSpan cut = in.Put(encoded.span().first(bytes));
      CHECK(codec.Decode(cut, decoded, &heap).code() == StatusCode::kCorrupt);
    }
  });
}

TEST_CASE("damaged vlen data are corrupt or decode within bounds") {
  GuardedBuffer in(1 << 16);
  ForEachSubject(kTexts.size(), [&](const VlenCodec& codec) {
    const Buffer encoded = codec.Encode(Refs(kTexts)).value();
    std::mt19937 random(23);
    for (int round = 0; round < 500; ++round) {
      Bytes damaged(encoded.data(), encoded.data() + encoded.size_bytes());
      for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
        damaged[random() % std::min<std::size_t>(damaged.size(), 80)] = static_cast<std::byte>(random());
      }
      std::vector<VlenRef> decoded(kTexts.size());
      Buffer heap;
      const Status status = codec.Decode(in.Put(damaged), decoded, &heap);
      if (!status.ok()) {
        CHECK(status.code() == StatusCode::kCorrupt);
        continue;
      }
      unsigned sum = 0;  // touches every byte an element claims
      for (const VlenRef& elem : decoded) {
        for (const std::byte byte : ByteSpan(elem.data, elem.size_bytes)) {
          sum += static_cast<unsigned>(byte);
        }
      }
      CHECK(sum < (1u << 24));
    }
  });
}

}  // namespace
}  // namespace h5zarr::codec
