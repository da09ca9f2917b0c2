// The part of `h5zarr mirror` that is for sources without versions of their own.
#include "tools/mirror_state_command.h"

#include <string>

#include "mirror/mirror_state.h"
#include "tools/mirror_report.h"
#include "tools/progress.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using zarr::Json;

Json ReportJson(const mirror::StateReport& report) {
  Json json;
  json["added"] = report.added ? 1 : 0;
  json["source_read"] = report.was_read;
  json["tag"] = report.tag;
  json["snapshot"] = report.snapshot;
  return json;
}

std::string ReportText(const mirror::StateReport& report) {
  if (!report.added) return "nothing new since " + report.tag + "\n";
  return report.tag + ": " + CountsText(report) + "\n";
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
  const Status told = FinishMirror(store, words, *report, ReportJson(*report), ReportText(*report));
  return told.ok() ? kDone : Fail(told);
}

}  // namespace h5zarr::tools
