"""RestApi: slurmrestd."""

from __future__ import annotations

from typing import Annotated, ClassVar

from penstock.api.controller import ContractChoice
from penstock.api.objects import (
    Conditions,
    Container,
    ControllerReference,
    Count,
    ObjectMeta,
    Part,
    PodTemplate,
    ServiceTemplate,
    documented,
)


class RestApiSpec(Part, frozen=True):
    """What a RestApi should be."""

    controller_ref: Annotated[ControllerReference, documented("The Controller of the cluster.")]
    replicas: Annotated[Count, documented("How many slurmrestd pods.")] = 1
    slurmrestd: Container = {}
    template: Annotated[PodTemplate, documented("Merged onto the slurmrestd pods.")] = PodTemplate()
    service: Annotated[ServiceTemplate, documented("The Service in front of slurmrestd.")] = ServiceTemplate()
    image_contract: ContractChoice = None


class RestApiStatus(Part, frozen=True):
    """What is known about a RestApi."""

    conditions: Conditions = []


class RestApi(Part, frozen=True):
    """Slurm's REST API of a cluster."""

    kind: ClassVar[str] = "RestApi"

    metadata: ObjectMeta
    spec: RestApiSpec
    status: RestApiStatus = RestApiStatus()
