# bash completion for container-disk-mounter. Made by `npm run command-pages`.

_container_disk_mounter() {
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
    --host-root | --kubelet-dir | --state-dir)
      compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --host-mount-namespace | -f | --filename)
      compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --owner | --socket-timeout | --timeout | --source-pod)
      :
      return
      ;;
    --strategy)
      mapfile -t COMPREPLY < <(compgen -W 'auto open_tree mountinfo' -- "$current")
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -W 'table json yaml' -- "$current")
      return
      ;;
    --log-format)
      mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$current")
      return
      ;;
  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    case $word in
      --host-root | --kubelet-dir | --state-dir | --host-mount-namespace | --owner | --strategy | --socket-timeout | -o | --output | --log-format | -f | --filename | --timeout | --source-pod) [[ ${COMP_WORDS[index + 1]} == = ]] && ((index++)); ((index++)) ;;
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  case $command in
    list)
      mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    inspect)
      mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      [[ $current == -* ]] || { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }
      ;;
    ready)
      mapfile -t COMPREPLY < <(compgen -W '-f --filename --timeout -h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    mount)
      mapfile -t COMPREPLY < <(compgen -W '-f --filename --source-pod -h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    unmount)
      mapfile -t COMPREPLY < <(compgen -W '-f --filename --all -h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    checksum)
      mapfile -t COMPREPLY < <(compgen -W '-f --filename -h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    verify)
      mapfile -t COMPREPLY < <(compgen -W '-f --filename -h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    gc)
      mapfile -t COMPREPLY < <(compgen -W '-h --help -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose' -- "$current")
      ;;
    '')
      mapfile -t COMPREPLY < <(compgen -W 'list inspect ready mount unmount checksum verify gc -V --version --host-root --kubelet-dir --state-dir --host-mount-namespace --owner --strategy --socket-timeout -o --output --log-format -v --verbose -h --help' -- "$current")
      ;;
  esac
}
complete -F _container_disk_mounter container-disk-mounter
