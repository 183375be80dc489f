// Renders a chart as `helm template` does, without Helm, which Debian does not have.
// usage: render CHART NAMESPACE [VALUES ...]
// Prints the resources as YAML. Exit status 1 if the values do not fit the chart's schema or a template fails.
// Only tests use it. It knows what Helm does with one chart that has no subcharts and asks no cluster.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// chartFiles are the files of a chart by their path in it, which templates see as `.Files`.
type chartFiles map[string]string

// Get returns the text of a file, or an empty one if there is no such file, as Helm does.
func (f chartFiles) Get(name string) string { return f[name] }

// readFolder adds the files below folder, named from prefix on. Like Helm it follows symbolic links.
func readFolder(folder, prefix string, files chartFiles) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		here, name := filepath.Join(folder, entry.Name()), path.Join(prefix, entry.Name())
		var info fs.FileInfo
		if info, err = os.Stat(here); err != nil {
			return err
		}
		if info.IsDir() {
			err = readFolder(here, name, files)
		} else {
			var text []byte
			text, err = os.ReadFile(here)
			files[name] = string(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merge puts `from` over `onto`: objects merge, null removes a value, and anything else replaces it.
func merge(onto, from object) {
	for key, value := range from {
		old, hasOld := onto[key].(object)
		next, hasNext := value.(object)
		switch {
		case value == nil:
			delete(onto, key)
		case hasOld && hasNext:
			merge(old, next)
		default:
			onto[key] = value
		}
	}
}

// checkSchema returns an error that lists every value that the schema refuses, as Helm does.
func checkSchema(schema string, values object) error {
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema), gojsonschema.NewGoLoader(values))
	if err != nil || result.Valid() {
		return err
	}
	lines := []string{"values don't meet the specifications of the schema(s) in the following chart(s):"}
	for _, problem := range result.Errors() {
		lines = append(lines, "- "+problem.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

func toYaml(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func fromYaml(text string) object {
	read := object{}
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		read["Error"] = err.Error()
	}
	return read
}

func fromYamlArray(text string) []interface{} {
	read := []interface{}{}
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return []interface{}{err.Error()}
	}
	return read
}

func required(message string, value interface{}) (interface{}, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

// functions returns what templates may call: Sprig without access to the environment, and Helm's own.
func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["toYaml"], known["fromYaml"], known["fromYamlArray"] = toYaml, fromYaml, fromYamlArray
	known["required"] = required
	known["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	return known
}

// render returns the output of all templates. Templates whose names begin with an underscore are there to be
// included. The output of NOTES.txt is for people and left out.
func render(files chartFiles, namespace string, values object) (string, error) {
	metadata := struct{ Name, Version, AppVersion string }{}
	if err := yaml.Unmarshal([]byte(files["Chart.yaml"]), &metadata); err != nil {
		return "", err
	}
	base := path.Join(metadata.Name, "templates")
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	names := []string{}
	for name, text := range files {
		if strings.HasPrefix(name, "templates/") {
			names = append(names, path.Join(metadata.Name, name))
			if _, err := all.New(names[len(names)-1]).Parse(text); err != nil {
				return "", err
			}
		}
	}
	sort.Strings(names)
	var output strings.Builder
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, object{
			"Values":   values,
			"Chart":    metadata,
			"Files":    files,
			"Release":  object{"Name": metadata.Name, "Namespace": namespace, "Service": "Helm"},
			"Template": object{"Name": name, "BasePath": base},
		})
		if err != nil {
			return "", err
		}
		if path.Base(name) != "NOTES.txt" {
			output.WriteString(strings.ReplaceAll(text.String(), "<no value>", ""))
		}
	}
	return output.String(), nil
}

func run(chart, namespace string, valuesFiles []string) (string, error) {
	files := chartFiles{}
	if err := readFolder(chart, "", files); err != nil {
		return "", err
	}
	values := object{}
	for _, name := range append([]string{filepath.Join(chart, "values.yaml")}, valuesFiles...) {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		read := object{}
		// Helm keeps numbers as they are written.
		numbers := func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }
		if err := yaml.Unmarshal(text, &read, numbers); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		merge(values, read)
	}
	if err := checkSchema(files["values.schema.json"], values); err != nil {
		return "", err
	}
	return render(files, namespace, values)
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: render CHART NAMESPACE [VALUES ...]")
		os.Exit(2)
	}
	text, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}
