"""Completion for bash from help texts."""

from help_text import Help, Option

_FUNCTION = r"""
@NAME@() {
  local line=${COMP_LINE:0:COMP_POINT} command=- current words candidates='' count key
  read -ra words <<<"$line"
  current=${line##*[[:space:]]}
  # The longest command that the words before this one begin with; "-" is none.
  local before=("${words[@]:1}")
  [ -z "$current" ] || unset 'before[-1]'
  for count in 1 2; do
    key=${before[*]:0:count}
    [ -z "$key" ] || [ -z "${@NAME@_flags[$key]+set}" ] || command=$key
  done
  case $current in
    --*=*)
      candidates=${@NAME@_values[$command ${current%%=*}]:-}
      current=${current#*=}
      if [ -z "$candidates" ]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      ;;
    -*) candidates=${@NAME@_flags[$command]:-} ;;
    *)
      # The next word of a command, or a file.
      local prefix="${before[*]}${before:+ }"
      for key in "${@NAME@_commands[@]}"; do
        [ "$command" = - ] && [[ $key == "$prefix"* ]] || continue
        key=${key#"$prefix"}
        candidates+=" ${key%% *}"
      done
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
  [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace
}
complete -o default -F @NAME@ @PROGRAM@
"""


def _flags(option: Option) -> list[str]:
    if option.is_switch:
        return [f"--{option.name}", f"--no-{option.name}"]
    return [f"--{option.name}{'=' if option.value else ''}"]


def script(program: str, helps: dict[str, Help]) -> str:
    """The script for a program with these commands; "-" is the program itself."""
    name = "_" + program.replace("-", "_")
    commands = " ".join(f"'{command}'" for command in helps if command != "-")
    lines = [f"# {program}: completion for bash.", f"{name}_commands=({commands})"]
    lines.append(f"declare -gA {name}_flags=(")
    if "-" not in helps:
        lines.append("  ['-']='--help --version'")
    for command, text in helps.items():
        flags = [flag for option in text.options() for flag in _flags(option)]
        lines.append(f"  ['{command}']='{' '.join(flags)}'")
    lines += [")", f"declare -gA {name}_values=("]
    for command, text in helps.items():
        for option in text.options():
            if choices := text.choices(option):
                lines.append(f"  ['{command} --{option.name}']='{' '.join(choices)}'")
    lines.append(")")
    return "\n".join(lines) + _FUNCTION.replace("@NAME@", name).replace("@PROGRAM@", program)
