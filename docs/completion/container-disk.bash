# bash completion for container-disk. Made by `npm run command-pages`.

_container_disk() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' word index
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
    -c | --copy-path)
      compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    case $word in
      -c | --copy-path) [[ ${COMP_WORDS[index + 1]} == = ]] && ((index++)); ((index++)) ;;
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  case $command in
    hold)
      mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version -c --copy-path --no-op' -- "$current")
      ;;
    copy)
      mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version -c --copy-path --no-op' -- "$current")
      [[ $current == -* ]] || { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
      ;;
    '')
      mapfile -t COMPREPLY < <(compgen -W 'hold copy -V --version -c --copy-path --no-op -h --help' -- "$current")
      ;;
  esac
}
complete -F _container_disk container-disk
