"""The front door."""

from django.db import IntegrityError, transaction
from django.db.models import F
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET, require_POST
from pydantic import BaseModel, PositiveInt, ValidationError

from shop.jobs import jobs
from shop.models import Article, Order
from shop.queue import put


class Wanted(BaseModel):
    """What somebody orders."""

    article: str
    count: PositiveInt


@require_POST
def place(request: HttpRequest) -> JsonResponse:
    """An order, the job that ships it, and fewer pens: all three or none."""
    try:
        wanted = Wanted.model_validate_json(request.body)
        with transaction.atomic():
            order = Order.objects.create(article=Article.objects.get(name=wanted.article), count=wanted.count)
            job = put(jobs.job("order.ship", {"order": order.pk}))
            # last on purpose: when there are too few, the job that is written already must go too
            Article.objects.filter(pk=order.article_id).update(left=F("left") - wanted.count)
    except (ValidationError, Article.DoesNotExist) as error:
        return JsonResponse({"error": str(error)}, status=422)
    except IntegrityError:
        return JsonResponse({"error": f"there are fewer than {wanted.count}"}, status=409)
    return JsonResponse({"order": order.pk, "job": job}, status=201)


@require_GET
def show(request: HttpRequest, order: int) -> JsonResponse:  # noqa: ARG001 -- Django gives it
    """How an order stands."""
    found = Order.objects.get(pk=order)
    return JsonResponse({"order": found.pk, "count": found.count, "shipped_by": found.shipped_by})
