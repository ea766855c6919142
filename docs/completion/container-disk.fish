# fish completion for container-disk. Made by `npm run command-pages`.
complete -c container-disk -f
complete -c container-disk -s V -l version -d 'output the version number'
complete -c container-disk -s c -l copy-path -r -F -d 'hold a socket at <path>.sock; may be given several times'
complete -c container-disk -l no-op -d 'do nothing and exit 0: an init container that only has its image pulled'
complete -c container-disk -s h -l help -d 'display help for command'
complete -c container-disk -n __fish_use_subcommand -a hold -d 'hold the sockets until they are removed, SIGTERM or SIGINT (the default)'
complete -c container-disk -n __fish_use_subcommand -a copy -d 'copy this program to a path or into a directory, for another image to start it'
complete -c container-disk -n '__fish_seen_subcommand_from copy' -F
