// The part of `h5zarr mirror` that is for sources without versions of their own.
#include "tools/mirror_state_command.h"

#include <cstdio>

#include "mirror/mirror_state.h"
#include "mirror/verify.h"
#include "tools/progress.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using zarr::Json;

Json ReportJson(const mirror::StateReport& report) {
  Json json;
  json["added"] = report.added ? 1 : 0;
  json["tag"] = report.tag;
  json["snapshot"] = report.snapshot;
  json["chunks_added"] = report.chunks_added;
  json["chunk_bytes_added"] = report.chunk_bytes_added;
  json["objects_written"] = report.written.objects + report.refs_written;
  json["bytes_written"] = report.written.bytes;
  return json;
}

void PrintReport(const mirror::StateReport& report) {
  if (!report.added) {
    std::printf("nothing new since %s\n", report.tag.c_str());
    return;
  }
  std::printf("%s: %llu new chunks, %llu bytes; %llu objects written\n", report.tag.c_str(),
              static_cast<unsigned long long>(report.chunks_added),
              static_cast<unsigned long long>(report.chunk_bytes_added),
              static_cast<unsigned long long>(report.written.objects + report.refs_written));
}

}  // namespace

int MirrorState(const mirror::OpenedFile& source, Store* store, const Words& words) {
  if (words.has("all") || !words.value("since").empty() || !words.value("codec").empty() ||
      !words.value("prune").empty()) {
    return Misused("--since, --all, --codec and --prune are for versioned-hdf5 files", kMirrorHelp);
  }
  Progress progress(words.has("quiet") || words.has("json"));
  mirror::StateOptions options;
  options.tag = words.value("tag");
  options.config = ThreadsOf(words);
  options.progress = [&progress](uint64_t done, uint64_t all, const std::string& what) {
    progress.Show(done, all, what);
  };
  const auto report = mirror::MirrorState(source, store, options);
  progress.Clear();
  if (!report.ok()) return Fail(report.status().WithContext("'" + source.name + "'"));
  if (words.has("verify")) {
    const auto verified = mirror::VerifyRepository(store);
    if (!verified.ok()) return Fail(verified.status());
  }
  if (words.has("json")) {
    std::printf("%s\n", zarr::DumpJson(ReportJson(*report), -1).c_str());
  } else if (!words.has("quiet")) {
    PrintReport(*report);
  }
  return kDone;
}

}  // namespace h5zarr::tools
