#!/bin/sh
# Makes an image with whichever of docker, podman and buildah is there: see README.md beside this file.
#
#   build.sh cpu|gpu|artefacts|copier      build it
#   build.sh sbom [IMAGE]                  print the bill of materials that an image holds
#
# From the environment: ENGINE, IMAGE (name without tag), BASE (base image, best with its digest), BUILD_FLAGS.
set -eu
cd "$(dirname "$0")/../.."

what=${1:?what to build: cpu, gpu, artefacts, copier or sbom}
IMAGE=${IMAGE:-localhost/demur}

if [ -z "${ENGINE:-}" ]; then
    for candidate in docker podman buildah; do
        if "$candidate" info > /dev/null 2>&1; then ENGINE=$candidate && break; fi
    done
fi
: "${ENGINE:?none of docker, podman and buildah answers; install one, or name it in ENGINE}"

if [ "$what" = sbom ]; then
    image=${2:-$IMAGE:cpu}
    if [ "$ENGINE" = buildah ]; then
        container=$(buildah from --pull-never "$image")
        cat "$(buildah mount "$container")/opt/demur/sbom.cdx.json"
        buildah rm "$container" > /dev/null
    else
        "$ENGINE" run --rm --network none --entrypoint cat "$image" /opt/demur/sbom.cdx.json
    fi
    exit
fi

# The date and revision of the source, so that the same source gives the same image.
REVISION=${REVISION:-$(git rev-parse HEAD 2> /dev/null || echo unknown)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
export SOURCE_DATE_EPOCH
VERSION=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' services/__init__.py)
CREATED=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)

file=deploy/images/Containerfile
set -- --build-arg "VERSION=$VERSION" --build-arg "REVISION=$REVISION" --build-arg "CREATED=$CREATED"
case $what in
    cpu | gpu)
        tag=$IMAGE:$what
        set -- "$@" --build-arg "VARIANT=$what" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH"
        if [ -n "${BASE:-}" ]; then set -- "$@" --build-arg "BASE=$BASE"; fi
        ;;
    artefacts)
        tag=$IMAGE-artefacts:$VERSION
        file=deploy/images/artefacts.Containerfile
        set -- "$@" --target volume
        ;;
    copier)
        tag=$IMAGE-artefacts:$VERSION-copier
        file=deploy/images/artefacts.Containerfile
        set -- "$@" --target copier --build-arg "DEMUR=$IMAGE:cpu"
        ;;
    *)
        echo "build.sh: $what is none of cpu, gpu, artefacts, copier, sbom" >&2
        exit 2
        ;;
esac

case $ENGINE in
    buildah) set -- bud --layers --timestamp "$SOURCE_DATE_EPOCH" "$@" ;;
    podman) set -- build --timestamp "$SOURCE_DATE_EPOCH" "$@" ;;
    *) set -- build "$@" ;;
esac
# shellcheck disable=SC2086 # flags are words
"$ENGINE" "$@" ${BUILD_FLAGS:-} --tag "$tag" --file "$file" .
echo "built $tag"
