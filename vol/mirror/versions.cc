#include "mirror/versions.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "host/handle.h"
#include "mirror/hdf5_read.h"

namespace h5zarr::mirror {
namespace {

// Days since 1970-01-01 of a day of the Gregorian calendar.
int64_t DaysSinceEpoch(int64_t year, int month, int day) {
  // Years that begin in March: a leap day is a year's last.
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t shifted_month = (month + 9) % 12;
  const int64_t day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
  const int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + day_of_year;
  return days - 719'468;
}

Result<Version> ReadVersion(hid_t group, const std::string& name) {
  const Handle version(H5Gopen2(group, name.c_str(), H5P_DEFAULT));
  if (!version.valid()) return Hdf5Error("version '" + name + "'");
  Version read;
  read.name = name;
  const auto fill = [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(read.previous, TextAttribute(version.get(), "prev_version"));
    H5ZARR_ASSIGN_OR_RETURN(read.committed, FlagAttribute(version.get(), "committed", true));
    H5ZARR_ASSIGN_OR_RETURN(read.timestamp, TextAttribute(version.get(), "timestamp"));
    H5ZARR_ASSIGN_OR_RETURN(read.timestamp_us, ParseTimestamp(read.timestamp));
    return OkStatus();
  };
  const Status filled = fill();
  if (!filled.ok()) return filled.WithContext("version '" + name + "'");
  return read;
}

// Each after its previous one.
Status Sort(std::vector<Version>* versions) {
  std::stable_sort(versions->begin(), versions->end(),
                   [](const Version& a, const Version& b) { return a.timestamp_us < b.timestamp_us; });
  std::set<std::string> done = {std::string(kFirstVersion)};
  for (std::size_t next = 0; next < versions->size(); ++next) {
    const auto rest = versions->begin() + static_cast<std::ptrdiff_t>(next);
    const auto found =
        std::find_if(rest, versions->end(), [&](const Version& version) { return done.contains(version.previous); });
    if (found == versions->end()) {
      return CorruptError("version '" + rest->name + "' comes from '" + rest->previous +
                          "', which comes from none that is there");
    }
    std::rotate(rest, found, found + 1);
    done.insert((*versions)[next].name);
  }
  return OkStatus();
}

}  // namespace

Result<uint64_t> ParseTimestamp(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0, zone = 0, used = 0;
  char sign = '+';
  const int found = std::sscanf(text.c_str(), "%4d-%2d-%2d %2d:%2d:%2d.%6d%c%4d%n", &year, &month, &day, &hour, &minute,
                                &second, &micros, &sign, &zone, &used);
  if (found != 9 || static_cast<std::size_t>(used) != text.size() || (sign != '+' && sign != '-') || year < 1970 ||
      month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 || hour < 0 ||
      minute < 0 || second < 0 || micros < 0 || zone < 0) {
    return CorruptError("timestamp '" + text + "' is not like 2026-01-31 12:30:00.123456+0000");
  }
  const int64_t zone_minutes = (zone / 100 * 60 + zone % 100) * (sign == '-' ? -1 : 1);
  const int64_t minutes = (DaysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - zone_minutes;
  if (minutes < 0) return CorruptError("timestamp '" + text + "' is before 1970");
  return static_cast<uint64_t>((minutes * 60 + second) * 1'000'000 + micros);
}

Result<Versions> ReadVersions(hid_t file) {
  const std::string path(kVersionsPath);
  for (const std::string& part : {path.substr(0, path.rfind('/')), path}) {
    if (H5Lexists(file, part.c_str(), H5P_DEFAULT) > 0) continue;
    H5Eclear2(H5E_DEFAULT);
    return UnsupportedError("it has no group " + part + ": no file of versioned-hdf5");
  }
  const Handle group(H5Gopen2(file, path.c_str(), H5P_DEFAULT));
  if (!group.valid()) return Hdf5Error(path);
  Versions versions;
  H5ZARR_ASSIGN_OR_RETURN(versions.current, TextAttribute(group.get(), "current_version"));
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> names, MemberNames(group.get()));
  for (const std::string& name : names) {
    if (name == kFirstVersion) continue;
    H5ZARR_ASSIGN_OR_RETURN(Version version, ReadVersion(group.get(), name));
    versions.all.push_back(std::move(version));
  }
  H5ZARR_RETURN_IF_ERROR(Sort(&versions.all));
  return versions;
}

}  // namespace h5zarr::mirror
