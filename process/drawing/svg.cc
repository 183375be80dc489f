#include "process/drawing/svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"

namespace sortition {
namespace {

std::string Attributes(const Svg::Style& style) {
  std::string text = absl::StrFormat("fill=\"%s\"", style.fill);
  if (style.stroke != "none") {
    absl::StrAppendFormat(&text, " stroke=\"%s\" stroke-width=\"%.2f\"",
                          style.stroke, style.width);
  }
  if (!style.dashes.empty()) {
    absl::StrAppendFormat(&text, " stroke-dasharray=\"%s\"", style.dashes);
  }
  if (style.opacity < 1) {
    absl::StrAppendFormat(&text, " opacity=\"%.2f\"", style.opacity);
  }
  return text;
}

}  // namespace

Svg::Svg(double width, double height) {
  Begin(width, height, "");
  Rectangle({0, 0}, width, height, {.fill = "#ffffff"});
}

Svg::Svg(double width, double height, const TextAlternative& alternative) {
  const std::string title = EscapeXml(alternative.title);
  Begin(width, height,
        absl::StrFormat(" role=\"img\" aria-label=\"%s\"", title));
  absl::StrAppend(&text_, "<title>", title, "</title>\n<desc>",
                  EscapeXml(alternative.description), "</desc>\n");
  Rectangle({0, 0}, width, height, {.fill = "#ffffff"});
}

void Svg::Begin(double width, double height, absl::string_view attributes) {
  absl::StrAppendFormat(
      &text_,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
      "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\"%s>\n",
      width, height, width, height, attributes);
}

void Svg::Line(Point from, Point to, const Style& style) {
  absl::StrAppendFormat(
      &text_, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" %s/>\n",
      from.x, from.y, to.x, to.y, Attributes(style));
}

void Svg::Polyline(const std::vector<Point>& points, const Style& style) {
  Shape("polyline", points, style);
}

void Svg::Polygon(const std::vector<Point>& points, const Style& style) {
  Shape("polygon", points, style);
}

void Svg::Shape(absl::string_view name, const std::vector<Point>& points,
                const Style& style) {
  absl::StrAppend(&text_, "<", name, " points=\"");
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
  Polygon({{centre.x, centre.y - radius},
           {centre.x + radius, centre.y},
           {centre.x, centre.y + radius},
           {centre.x - radius, centre.y}},
          style);
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
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                      std::move(*this).FinishElement());
}

std::string Svg::FinishElement() && {
  absl::StrAppend(&text_, "</svg>\n");
  return std::move(text_);
}

}  // namespace sortition
