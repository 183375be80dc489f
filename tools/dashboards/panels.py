"""Panels of Grafana dashboards from the little that differs between them."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24


# Expressions of PromQL. `labels` are selectors, `by` are names of labels.

def rate(metric, labels="", by="", window="$__rate_interval"):
    return total(f"rate({metric}{{{labels}}}[{window}])", by)


def total(expression, by=""):
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"


def quantile(q, metric, labels="", by=""):
    names = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {rate(metric + '_bucket', labels, names)})"


def share(part, whole):
    """Where nothing has been counted in `part`, 0."""
    return f"({part} or 0 * {whole}) / {whole}"


def buckets(metric, labels=""):
    """What a heat map draws."""
    return f"sum by (le) (increase({metric}_bucket{{{labels}}}[$__rate_interval]))"


# Panels. `queries` are pairs of an expression and a legend; `says` is what a
# reader sees under the title's "i": what it tells, and what to do.

def panel(kind, title, says, queries, unit, width, height, options, field):
    targets = [{"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
               for i, (expression, legend) in enumerate(queries)]
    return {"type": kind, "title": title, "description": says, "datasource": SOURCE,
            "targets": targets, "options": options,
            "fieldConfig": {"defaults": {"unit": unit, **field}, "overrides": []},
            "gridPos": {"w": width, "h": height}}


def graph(title, unit, says, *queries, width=8, stacked=False, steps=False, most=None, dashed=None):
    """Lines over time. `most`: upper end of the axis; `dashed`: lines whose legend matches."""
    custom = {"lineWidth": 1, "fillOpacity": 20 if stacked else 0, "showPoints": "never",
              "stacking": {"mode": "normal" if stacked else "none"},
              "lineInterpolation": "stepAfter" if steps else "linear"}
    field = {"min": 0, "max": most, "custom": custom} if most else {"custom": custom}
    made = panel("timeseries", title, says, queries, unit, width, 8,
                 {"legend": {"displayMode": "list", "placement": "bottom"},
                  "tooltip": {"mode": "multi", "sort": "desc"}}, field)
    if dashed:
        made["fieldConfig"]["overrides"] = [
            {"matcher": {"id": "byRegexp", "options": f"/{dashed}/"},
             "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [4, 4]}}]}]
    return made


def number(title, unit, says, expression, legend="", width=4, bad_below=None, bad_above=None):
    """The newest value, red where it is bad."""
    steps = [{"color": "green", "value": None}]
    if bad_above is not None:
        steps.append({"color": "red", "value": bad_above})
    if bad_below is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": bad_below}]
    return panel("stat", title, says, [(expression, legend)], unit, width, 4,
                 {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value",
                  "graphMode": "none", "textMode": "auto"},
                 {"thresholds": {"mode": "absolute", "steps": steps}})


def heat_map(title, unit, says, expression, width=8):
    made = panel("heatmap", title, says, [(expression, "{{le}}")], "short", width, 8,
                 {"calculate": False, "yAxis": {"unit": unit}, "cellGap": 1,
                  "color": {"mode": "scheme", "scheme": "Blues", "steps": 64},
                  "tooltip": {"show": True, "yHistogram": True}, "legend": {"show": True}}, {})
    made["targets"][0]["format"] = "heatmap"
    return made


def section(title, *panels, collapsed=False):
    return {"title": title, "panels": list(panels), "collapsed": collapsed}


# Dashboards.

def variable(name, label, metric):
    query = f"label_values({metric}, {name})"
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE,
            "definition": query, "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
            "multi": True, "includeAll": True, "allValue": ".*",
            "current": {"text": "All", "value": "$__all"}}


def window(choices, chosen):
    return {"name": "window", "label": "Window", "type": "interval", "query": choices,
            "auto": False, "current": {"text": chosen, "value": chosen}}


def dashboard(name, says, variables, sections):
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource",
              "query": "prometheus", "current": {"text": "Prometheus", "value": "prometheus"}}
    swaps = {"name": "Versions that begin to serve", "datasource": SOURCE, "enable": True,
             "iconColor": "blue", "titleFormat": "{{model}}: another version serves",
             "expr": 'changes(sortition_model_version{instance=~"$instance"}[1m]) > 0'}
    return {"uid": f"sortition-{name}", "title": f"Sortition: {name}", "description": says,
            "tags": ["sortition"], "editable": False, "graphTooltip": 1, "schemaVersion": 39,
            "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
            "links": [{"type": "dashboards", "tags": ["sortition"], "title": "Sortition",
                       "keepTime": True, "includeVars": False}],
            "annotations": {"list": [swaps]}, "templating": {"list": [source, *variables]},
            "panels": place(sections)}


def place(sections):
    """Panels from left to right, in lines as high as the first of each."""
    placed, y = [], 0
    for part in sections:
        row = {"type": "row", "title": part["title"], "collapsed": part["collapsed"],
               "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}, "panels": []}
        placed.append(row)
        inside = row["panels"] if part["collapsed"] else placed
        x, y, height = 0, y + 1, 0
        for each in part["panels"]:
            if x + each["gridPos"]["w"] > COLUMNS:
                x, y = 0, y + height
            height = each["gridPos"]["h"]
            each["gridPos"].update({"x": x, "y": y})
            x += each["gridPos"]["w"]
            inside.append(each)
        y += height
    flat = [inner for each in placed for inner in (each, *each.get("panels", []))]
    for index, each in enumerate(flat, 1):
        each["id"] = index
    return placed
