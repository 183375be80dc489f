#include "trainer/decision_files/npz_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

// Reads little-endian numbers of an archive; 0 beyond its end.
class Archive {
 public:
  explicit Archive(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  uint64_t At(uint64_t place) const {
    T value = 0;
    if (place + sizeof(T) > bytes_.size()) return 0;
    std::memcpy(&value, bytes_.data() + place, sizeof(T));
    return value;
  }
  absl::string_view Part(uint64_t place, uint64_t size) const {
    if (place > bytes_.size() || size > bytes_.size() - place) return {};
    return bytes_.substr(place, size);
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  absl::string_view bytes_;
};

// An entry of the central directory of a ZIP archive.
struct ZipEntry {
  std::string name;
  uint64_t method = 0;
  uint64_t size = 0;
  uint64_t stored_size = 0;
  uint64_t place = 0;  // Of its local header.
  uint64_t next = 0;   // Place of the next entry.
};

constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEndLocator64 = 0x07064b50;
constexpr uint64_t kIn64 = 0xffffffff;  // The number is in the extra field.

ZipEntry EntryAt(const Archive& archive, uint64_t place) {
  ZipEntry entry;
  const uint64_t name_size = archive.At<uint16_t>(place + 28);
  const uint64_t extra_size = archive.At<uint16_t>(place + 30);
  entry.name = std::string(archive.Part(place + 46, name_size));
  entry.method = archive.At<uint16_t>(place + 10);
  entry.stored_size = archive.At<uint32_t>(place + 20);
  entry.size = archive.At<uint32_t>(place + 24);
  entry.place = archive.At<uint32_t>(place + 42);
  uint64_t extra = place + 46 + name_size;
  const uint64_t end = extra + extra_size;
  while (extra + 4 <= end) {
    const uint64_t size = archive.At<uint16_t>(extra + 2);
    if (archive.At<uint16_t>(extra) == 1) {
      uint64_t field = extra + 4;
      for (uint64_t* const number :
           {&entry.size, &entry.stored_size, &entry.place}) {
        if (*number != kIn64) continue;
        *number = archive.At<uint64_t>(field);
        field += 8;
      }
    }
    extra += 4 + size;
  }
  entry.next = end + archive.At<uint16_t>(place + 32);
  return entry;
}

// Returns the place of the central directory and its number of entries.
std::optional<std::pair<uint64_t, uint64_t>> FindDirectory(
    const Archive& archive) {
  constexpr uint64_t kEndBytes = 22;
  if (archive.size() < kEndBytes) return std::nullopt;
  // No comment follows what NumPy writes.
  const uint64_t end = archive.size() - kEndBytes;
  if (archive.At<uint32_t>(end) != kEnd) return std::nullopt;
  uint64_t entries = archive.At<uint16_t>(end + 10);
  uint64_t place = archive.At<uint32_t>(end + 16);
  if (end >= 20 && archive.At<uint32_t>(end - 20) == kEndLocator64) {
    const uint64_t end64 = archive.At<uint64_t>(end - 12);
    entries = archive.At<uint64_t>(end64 + 32);
    place = archive.At<uint64_t>(end64 + 48);
  }
  return std::pair{place, entries};
}

// Returns what stands behind 'key': in the header of an array.
absl::string_view HeaderValue(absl::string_view header, absl::string_view key) {
  const size_t place = header.find(key);
  if (place == absl::string_view::npos) return {};
  return absl::StripLeadingAsciiWhitespace(header.substr(place + key.size()));
}

// Sets how many bytes an item of the array's type has.
absl::Status TakeItemSize(NpyArray* array) {
  const std::string& type = array->type;
  constexpr absl::string_view kNumbers[] = {"<f4", "<f8", "<i4", "<i8"};
  bool is_known = absl::StartsWith(type, "<U") || absl::StartsWith(type, "|S");
  for (const absl::string_view number : kNumbers) is_known |= type == number;
  uint64_t width = 0;
  if (!is_known || !absl::SimpleAtoi(type.substr(2), &width)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has type '", type,
                     "', must be <f4, <f8, <i4, <i8, or texts (<U, |S)"));
  }
  array->item_bytes = type[1] == 'U' ? 4 * width : width;
  return absl::OkStatus();
}

absl::StatusOr<NpyArray> ParseArray(absl::string_view bytes) {
  const absl::Status damaged = absl::InvalidArgumentError("is damaged");
  if (bytes.size() < 12 || !absl::StartsWith(bytes, "\x93NUMPY")) {
    return damaged;
  }
  const Archive archive(bytes);
  const bool is_first = bytes[6] == 1;
  const uint64_t begin = is_first ? 10 : 12;
  const uint64_t size =
      is_first ? archive.At<uint16_t>(8) : archive.At<uint32_t>(8);
  const absl::string_view header = archive.Part(begin, size);
  NpyArray array;
  const std::vector<absl::string_view> type =
      absl::StrSplit(HeaderValue(header, "'descr':"), absl::MaxSplits('\'', 2));
  if (type.size() == 3) array.type = std::string(type[1]);
  if (!absl::StartsWith(HeaderValue(header, "'fortran_order':"), "False")) {
    return absl::InvalidArgumentError("must be in C order");
  }
  absl::string_view shape = HeaderValue(header, "'shape':");
  shape = shape.substr(0, shape.find(')'));
  absl::ConsumePrefix(&shape, "(");
  for (const absl::string_view part :
       absl::StrSplit(shape, ',', absl::SkipWhitespace())) {
    uint64_t count = 0;
    if (!absl::SimpleAtoi(part, &count)) return damaged;
    array.shape.push_back(count);
  }
  if (array.shape.empty() || array.shape.size() > 2) {
    return absl::InvalidArgumentError("must have one or two dimensions");
  }
  RETURN_IF_ERROR(TakeItemSize(&array));
  array.data = bytes.substr(std::min<uint64_t>(begin + size, bytes.size()));
  const double needed = static_cast<double>(array.rows()) *
                        static_cast<double>(array.columns()) *
                        static_cast<double>(array.item_bytes);
  if (needed > static_cast<double>(array.data.size())) return damaged;
  return array;
}

void AppendUtf8(uint32_t c, std::string* text) {
  const auto add = [&](uint32_t byte) {
    text->push_back(static_cast<char>(byte));
  };
  if (c < 0x80) return add(c);
  if (c < 0x800) {
    add(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    add(0xe0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3f));
  } else {
    add(0xf0 | (c >> 18 & 7));
    add(0x80 | (c >> 12 & 0x3f));
    add(0x80 | (c >> 6 & 0x3f));
  }
  add(0x80 | (c & 0x3f));
}

template <typename T>
double NumberOf(const char* data) {
  T value = 0;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

double NpyArray::NumberAt(uint64_t row, uint64_t column) const {
  const char* const place =
      data.data() + (row * columns() + column) * item_bytes;
  if (type == "<f4") return NumberOf<float>(place);
  if (type == "<f8") return NumberOf<double>(place);
  return type == "<i4" ? NumberOf<int32_t>(place) : NumberOf<int64_t>(place);
}

std::string NpyArray::TextAt(uint64_t row) const {
  const absl::string_view bytes = data.substr(row * item_bytes, item_bytes);
  if (type[1] == 'S') return std::string(bytes.substr(0, bytes.find('\0')));
  std::string text;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    uint32_t c = 0;
    std::memcpy(&c, bytes.data() + i, 4);
    if (c == 0) break;
    AppendUtf8(c, &text);
  }
  return text;
}

absl::StatusOr<NpzFile> NpzFile::Read(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(path));
  NpzFile file;
  file.bytes_.assign(contents.begin(), contents.end());
  const Archive archive({file.bytes_.data(), file.bytes_.size()});
  const auto directory = FindDirectory(archive);
  if (!directory) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the archive is damaged"));
  }
  auto [place, entries] = *directory;
  for (; entries > 0; --entries) {
    if (archive.At<uint32_t>(place) != kDirectoryEntry) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the archive is damaged"));
    }
    const ZipEntry entry = EntryAt(archive, place);
    place = entry.next;
    const std::string name(absl::StripSuffix(entry.name, ".npy"));
    if (entry.method != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": array '", name,
                       "' is compressed, must be written by numpy.savez"));
    }
    const uint64_t begin = entry.place + 30 +
                           archive.At<uint16_t>(entry.place + 26) +
                           archive.At<uint16_t>(entry.place + 28);
    const auto array = ParseArray(archive.Part(begin, entry.size));
    if (!array.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": array '", name, "' ", array.status().message()));
    }
    file.arrays_[name] = *array;
  }
  return file;
}

}  // namespace sortition
