#include "io/datasets/label_file_options.h"

#include "absl/strings/str_cat.h"

namespace sortition {

using config::v1::LabelFileOptions;

SvmlightOptions ToSvmlightOptions(const LabelFileOptions& options) {
  SvmlightOptions lines{.first_feature = options.first_feature()};
  switch (options.extreme_values()) {
    case LabelFileOptions::REFUSE:
      lines.extreme_values = ExtremeValues::kRefuse;
      break;
    case LabelFileOptions::MISSING:
      lines.extreme_values = ExtremeValues::kMissing;
      break;
    case LabelFileOptions::CUT:
      lines.extreme_values = ExtremeValues::kCut;
      break;
    case LabelFileOptions::ZERO:
      lines.extreme_values = ExtremeValues::kZero;
      break;
  }
  return lines;
}

std::string ExtremeValuesNote(const LabelFileOptions& options,
                              const std::string& path, uint64_t count) {
  const char* as = "0";
  if (options.extreme_values() == LabelFileOptions::MISSING) as = "missing";
  if (options.extreme_values() == LabelFileOptions::CUT) {
    as = "the largest float of their sign, or as missing where they are nan";
  }
  return absl::StrCat(count, count == 1 ? " value of " : " values of ", path,
                      count == 1 ? " is no finite float and was read as "
                                 : " are no finite floats and were read as ",
                      as, " (extreme_values)");
}

}  // namespace sortition
