#include "trainer/cluster/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the UTF-8 character that `text` begins with, and its code point; 0
// bytes where it is malformed.
struct CodePoint {
  size_t bytes = 0;
  uint32_t value = 0;
};

CodePoint Decode(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t value = lead & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10FFFF) return {};
  return {bytes, value};
}

// Of XML 1.0, production [2].
bool IsXmlChar(uint32_t value) {
  return value == 0x9 || value == 0xA || value == 0xD ||
         (value >= 0x20 && value <= 0xD7FF) ||
         (value >= 0xE000 && value <= 0xFFFD) || value >= 0x10000;
}

void AppendEscaped(absl::string_view character, std::string* text) {
  switch (character[0]) {
    case '&':
      absl::StrAppend(text, "&amp;");
      return;
    case '<':
      absl::StrAppend(text, "&lt;");
      return;
    case '>':
      absl::StrAppend(text, "&gt;");
      return;
    case '"':
      absl::StrAppend(text, "&quot;");
      return;
    case '\'':
      absl::StrAppend(text, "&#39;");
      return;
    default:
      absl::StrAppend(text, character);
  }
}

std::string Attributes(const Svg::Style& style) {
  std::string text = absl::StrFormat("fill=\"%s\"", style.fill);
  if (style.stroke != "none") {
    absl::StrAppendFormat(&text, " stroke=\"%s\" stroke-width=\"%.2f\"",
                          style.stroke, style.width);
  }
  if (style.opacity < 1) {
    absl::StrAppendFormat(&text, " opacity=\"%.2f\"", style.opacity);
  }
  return text;
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const CodePoint next = Decode(text);
    if (next.bytes == 0 || !IsXmlChar(next.value)) {
      absl::StrAppend(&escaped, kReplacement);
      text.remove_prefix(std::max<size_t>(1, next.bytes));
      continue;
    }
    AppendEscaped(text.substr(0, next.bytes), &escaped);
    text.remove_prefix(next.bytes);
  }
  return escaped;
}

std::string Shorten(absl::string_view text, size_t most) {
  size_t characters = 0;
  size_t cut = 0;  // Bytes of the first most - 1 characters.
  for (size_t i = 0; i < text.size(); ++characters) {
    if (characters + 1 == most) cut = i;
    i += std::max<size_t>(1, Decode(text.substr(i)).bytes);
  }
  if (characters <= most) return std::string(text);
  return absl::StrCat(text.substr(0, cut), "…");
}

Svg::Svg(double width, double height)
    : text_(absl::StrFormat(
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
          "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
          "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n",
          width, height, width, height)) {
  Rectangle({0, 0}, width, height, {.fill = "#ffffff"});
}

void Svg::Line(Point from, Point to, const Style& style) {
  absl::StrAppendFormat(
      &text_, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" %s/>\n",
      from.x, from.y, to.x, to.y, Attributes(style));
}

void Svg::Polyline(const std::vector<Point>& points, const Style& style) {
  absl::StrAppend(&text_, "<polyline points=\"");
  for (size_t i = 0; i < points.size(); ++i) {
    absl::StrAppendFormat(&text_, "%s%.2f,%.2f", i == 0 ? "" : " ", points[i].x,
                          points[i].y);
  }
  absl::StrAppend(&text_, "\" ", Attributes(style), "/>\n");
}

void Svg::Rectangle(Point corner, double width, double height,
                    const Style& style) {
  absl::StrAppendFormat(
      &text_,
      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s/>\n",
      corner.x, corner.y, width, height, Attributes(style));
}

void Svg::Circle(Point centre, double radius, const Style& style) {
  absl::StrAppendFormat(&text_,
                        "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" %s/>\n",
                        centre.x, centre.y, radius, Attributes(style));
}

void Svg::Diamond(Point centre, double radius, const Style& style) {
  absl::StrAppendFormat(
      &text_,
      "<polygon points=\"%.2f,%.2f %.2f,%.2f %.2f,%.2f %.2f,%.2f\" %s/>\n",
      centre.x, centre.y - radius, centre.x + radius, centre.y, centre.x,
      centre.y + radius, centre.x - radius, centre.y, Attributes(style));
}

void Svg::Text(Point at, absl::string_view text, const TextStyle& style) {
  const absl::string_view anchor = style.anchor == Anchor::kStart    ? "start"
                                   : style.anchor == Anchor::kMiddle ? "middle"
                                                                     : "end";
  absl::StrAppendFormat(
      &text_,
      "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\" "
      "fill=\"%s\"%s",
      at.x, at.y, style.size, anchor, style.fill,
      style.bold ? " font-weight=\"bold\"" : "");
  if (style.upwards) {
    absl::StrAppendFormat(&text_, " transform=\"rotate(-90 %.2f %.2f)\"", at.x,
                          at.y);
  }
  absl::StrAppend(&text_, ">", EscapeXml(text), "</text>\n");
}

std::string Svg::Finish() && {
  absl::StrAppend(&text_, "</svg>\n");
  return std::move(text_);
}

absl::string_view Colour(size_t index) {
  constexpr std::array<absl::string_view, 10> kColours = {
      "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f",
      "#56b4e9", "#7b3294", "#e69f00", "#555555", "#b2182b"};
  return kColours[index % kColours.size()];
}

std::string Shade(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const auto mix = [t](double light, double dark) {
    return static_cast<int>(std::lround(light + t * (dark - light)));
  };
  return absl::StrFormat("#%02x%02x%02x", mix(255, 127), mix(250, 0),
                         mix(240, 20));
}

std::vector<double> Ticks(double low, double high) {
  if (!(high > low)) return {low};
  double step = std::pow(10, std::floor(std::log10((high - low) / 3)));
  for (const double factor : {2.0, 2.5}) {  // 1, 2, 5.
    if ((high - low) / step <= 8) break;
    step *= factor;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step);
  for (int k = 0; k <= 8 && (first + k) * step <= high; ++k) {
    ticks.push_back((first + k) * step + 0.0);  // One zero.
  }
  return ticks;
}

}  // namespace sortition
